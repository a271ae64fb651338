-- Give events that follow the cursor to a member and move the cursor past them.
-- Returns the number of the first delivery and the places, from 0, of the events given out; the rest waits.
local member, lease, limit, expected, revision, stamp, ids, owners = unpack(args)
local cursor, cursor_stamp, holder = unpack(redis.call('HMGET', state, 'r', 's', 'h'))
if not cursor then return {'gone'} end
if #owners > 0 and holder ~= member then return {'held'} end
if tonumber(cursor) ~= expected then return {'moved', tonumber(cursor), tonumber(cursor_stamp)} end
local newest = redis.call('XRANGE', log, text(revision) .. '-0', text(revision) .. '-0')[1]
if not newest or tonumber(newest[2][2]) ~= stamp then return {'diverged'} end
if #ids > 0 and redis.call('HLEN', items) + redis.call('ZCARD', waiting) + #ids > limit then return {'full'} end

-- Items are packed as six values behind the head of a table: a table itself takes three times as long.
local pack, head = cmsgpack.pack, string.char(0x96)
-- Behind one item, more than 64 bytes make the hash a table: in a list, each item is looked for from the start.
local padding = pack(string.rep(' ', 64))
local places, packed, ready = {}, {}, {}
local delivery = tonumber(redis.call('HGET', state, 'n') or 0)
local taken, ends = 0, text(now + lease)
for n, id in ipairs(ids) do
  local owner = owners[n] or ''
  if owner ~= '' and redis.call('SADD', busy, owner) == 0 then
    local at, index = string.match(id, '^(%d+)-(%d+)$')
    redis.call('ZADD', waiting, 0, string.format('%s:%016.0f-%04d', owner, at, index))
  else
    taken = taken + 1
    places[taken] = n - 1
    packed[2 * taken - 1], packed[2 * taken] = id, head .. pack(delivery + taken, 1, member, owner, '', false)
    ready[2 * taken - 1], ready[2 * taken] = ends, id
  end
end
if taken > 0 then
  if taken > 16 then packed[2] = packed[2] .. padding end
  redis.call('HSET', items, unpack(packed))
  redis.call('ZADD', times, unpack(ready))
end
redis.call('HSET', state, 'r', text(revision), 's', text(stamp), 'n', text(delivery + taken))
return {'ok', delivery + 1, places}

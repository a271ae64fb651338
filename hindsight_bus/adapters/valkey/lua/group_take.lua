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

local places, packed, ready = {}, {}, {}
local delivery = tonumber(redis.call('HGET', state, 'n') or 0)
for n, id in ipairs(ids) do
  local owner = owners[n] or ''
  if owner ~= '' and redis.call('SADD', busy, owner) == 0 then
    local at, index = string.match(id, '^(%d+)-(%d+)$')
    redis.call('ZADD', waiting, 0, string.format('%s:%016.0f-%04d', owner, at, index))
  else
    table.insert(places, n - 1)
    table.insert(packed, id)
    table.insert(packed, cmsgpack.pack({delivery + #places, 1, member, owner, '', false}))
    table.insert(ready, text(now + lease))
    table.insert(ready, id)
  end
end
if #places > 0 then
  redis.call('HSET', items, unpack(packed))
  redis.call('ZADD', times, unpack(ready))
end
redis.call('HSET', state, 'r', text(revision), 's', text(stamp), 'n', text(delivery + #places))
return {'ok', delivery + 1, places}

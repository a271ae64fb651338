-- Give a member what is due again: given back, delayed until now, or held by somebody whose lease ran out.
-- Returns (id, delivery, attempt, entry) of each, when the next one is due (-1 = nothing is pending), and the cursor.
local member, lease, limit, max_attempts, ordered, kept = unpack(args)
local cursor, stamp, holder = unpack(redis.call('HMGET', state, 'r', 's', 'h'))
if not cursor then return {'gone'} end
if ordered and holder ~= member then return {'held'} end
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', times, '-inf', now, 'LIMIT', 0, limit)) do
  local item = cmsgpack.unpack(redis.call('HGET', items, id))
  local entry = item[6] or entry_of(id)
  if not entry then
    lose(id, item)
  elseif item[2] >= max_attempts then
    bury(id, item, item[5] ~= '' and item[5] or 'no answer before the lease ran out', kept)
  else
    item[1] = redis.call('HINCRBY', state, 'n', 1)
    item[2] = item[2] + 1
    item[3] = member
    save(id, item, now + lease)
    table.insert(found, {id, item[1], item[2], entry})
  end
end
local following = redis.call('ZRANGE', times, 0, 0, 'WITHSCORES')[2]
return {'ok', found, following and tonumber(following) or -1, tonumber(cursor), tonumber(stamp)}

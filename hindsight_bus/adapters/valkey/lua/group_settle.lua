-- Settle deliveries that the member still has. Returns 1 or 0 (= not its own any more) for each, in order.
-- Actions: 1 ack, 2 retry, 3 extend, 4 reject.
local member, max_attempts, kept, settlements = unpack(args)
local ids, outcomes, acked, settled = {}, {}, {}, {}
for n, each in ipairs(settlements) do ids[n] = each[1] end
local found = #ids > 0 and redis.call('HMGET', items, unpack(ids))
for n, each in ipairs(settlements) do
  local id, delivery, action, delay, reason = unpack(each)
  local item = found[n] and not settled[id] and cmsgpack.unpack(found[n])
  if not item or item[1] ~= delivery or item[3] ~= member then
    outcomes[n] = 0
  elseif action == 3 then
    outcomes[n] = 1
    redis.call('ZADD', times, text(now + delay), id)
  else
    outcomes[n] = 1
    settled[id] = true
    if action == 1 and item[4] == '' then
      table.insert(acked, id)
    elseif action == 1 then
      remove(id, item)
    elseif action == 4 or item[2] >= max_attempts then
      bury(id, item, reason, kept)
    else
      item[3] = ''
      item[5] = reason
      save(id, item, now + delay)
    end
  end
end
if #acked > 0 then
  redis.call('HDEL', items, unpack(acked))
  redis.call('ZREM', times, unpack(acked))
end
return {'ok', outcomes}

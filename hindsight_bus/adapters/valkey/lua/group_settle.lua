-- Settle deliveries that the member still has. Returns 1 or 0 (= not its own any more) for each, in order.
-- Actions: 1 ack, 2 retry, 3 extend, 4 reject.
local member, max_attempts, kept, ids, deliveries, actions, delays, reasons = unpack(args)
local outcomes, acked, settled = {}, {}, {}
local found = #ids > 0 and redis.call('HMGET', items, unpack(ids))
for n, id in ipairs(ids) do
  local delivery, action, delay = deliveries[n], actions[n] or 1, delays[n]
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
      acked[#acked + 1] = id
    elseif action == 1 then
      remove(id, item)
    elseif action == 4 or item[2] >= max_attempts then
      bury(id, item, reasons[n], kept)
    else
      item[3] = ''
      item[5] = reasons[n]
      save(id, item, now + delay)
    end
  end
end
if #acked > 0 then
  redis.call('HDEL', items, unpack(acked))
  redis.call('ZREM', times, unpack(acked))
end
return {'ok', outcomes}

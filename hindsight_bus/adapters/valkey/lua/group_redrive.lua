-- Give dead letters another run of attempts, outside of any order. Returns how many there were.
local redriven = 0
for _, sequence in ipairs(args) do
  local raw = redis.call('ZRANGEBYSCORE', dead, sequence, sequence)[1]
  if raw then
    local _, id, _, reason, _, entry = unpack(cmsgpack.unpack(raw))
    redis.call('ZREM', dead, raw)
    redriven = redriven + 1
    if redis.call('HEXISTS', items, id) == 0 then save(id, {0, 0, '', '', reason, entry}, now) end
  end
end
return {'ok', redriven}

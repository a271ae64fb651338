-- Lease due items. KEYS: times, items. ARGV: lease in ms, limit. Returns (attempt, body) pairs, flat.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local item = redis.call('HGET', KEYS[2], id)
  local attempt, body = struct.unpack('>I4', item) + 1, string.sub(item, 6)
  redis.call('HSET', KEYS[2], id, struct.pack('>I4B', attempt, 1) .. body)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[1]), id)
  table.insert(taken, attempt)
  table.insert(taken, body)
end
return taken

-- Finish, give back or keep items that are still leased under their attempt. KEYS: times, items.
-- ARGV: delay in ms (-1 = finish), 1 = stay leased until then, then (id, attempt) pairs. Returns how many there were.
local clock = redis.call('TIME')
local due = clock[1] * 1000 + math.floor(clock[2] / 1000) + ARGV[1]
local released = 0
for n = 3, #ARGV, 2 do
  local id, wanted = ARGV[n], tonumber(ARGV[n + 1])
  local item = redis.call('HGET', KEYS[2], id)
  if item then
    local attempt, leased = struct.unpack('>I4B', item)
    if attempt == wanted and leased == 1 then
      released = released + 1
      if ARGV[1] == '-1' then
        redis.call('HDEL', KEYS[2], id)
        redis.call('ZREM', KEYS[1], id)
      else
        redis.call('HSET', KEYS[2], id, struct.pack('>I4B', attempt, ARGV[2]) .. string.sub(item, 6))
        redis.call('ZADD', KEYS[1], string.format('%.0f', due), id)
      end
    end
  end
end
return released

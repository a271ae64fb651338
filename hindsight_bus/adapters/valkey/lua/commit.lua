-- Commit: check every precondition, then append the entry, apply every mutation, and wake the tails.
-- It holds no policy. KEYS: the two below, then those that the payload names by number.
local ends, log = KEYS[1], KEYS[2]
local channel, payload = ARGV[1], ARGV[2]
local node_ms, stamp, events, expects, counts, finish, puts, deletes, steps, due = unpack(cmsgpack.unpack(payload))

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if node_ms > 0 and math.abs(now - node_ms) > 2000 then
  return {'skewed', now}
end

-- Header of each record that this commit looks at, '' where there is none.
local headers = {}
local function header(n)
  local found = headers[n]
  if not found then
    found = redis.call('GETRANGE', KEYS[n], 0, 31)
    headers[n] = found
  end
  return found
end

for index, expect in ipairs(expects) do
  local found, wanted = header(expect[1]), expect[2]
  if wanted == 0 then
    if found ~= '' then return {'changed', index} end
  elseif found == '' or select(3, struct.unpack('>dddd', found)) ~= wanted then
    return {'changed', index}
  end
end
for index, count in ipairs(counts) do
  if tonumber(redis.call('GET', KEYS[count[1]]) or 0) >= count[2] then return {'full', index} end
end
if #finish > 0 then
  local item = redis.call('HGET', KEYS[finish[4]], finish[1])
  if not item then return {'lost'} end
  local attempt, leased = struct.unpack('>I4B', item)
  if attempt ~= finish[2] or leased ~= 1 then return {'lost'} end
end

local revision, previous = unpack(redis.call('HMGET', ends, 'r', 's'))
revision, previous = tonumber(revision or 0), tonumber(previous or 0)
if events ~= '' then
  revision = revision + 1
  redis.call('XADD', log, string.format('%.0f-0', revision), 's', stamp, 't', now, 'e', events)
  redis.call('HSET', ends, 'r', revision, 's', stamp)
end

for _, count in ipairs(counts) do
  if redis.call('INCR', KEYS[count[1]]) == 1 then redis.call('PEXPIRE', KEYS[count[1]], count[3]) end
end
for _, put in ipairs(puts) do
  local n, body, ttl, member, sorted, sets = unpack(put)
  local found, created, created_ms = header(n), revision, now
  if found == '' then
    if sorted > 0 then redis.call('ZADD', KEYS[sorted], revision, member) end
    for _, set in ipairs(sets) do redis.call('SADD', KEYS[set], member) end
  else
    created, created_ms = struct.unpack('>dd', found)
  end
  local value = struct.pack('>dddd', created, created_ms, revision, now) .. body
  if ttl > 0 then
    redis.call('SET', KEYS[n], value, 'PX', ttl)
  else
    redis.call('SET', KEYS[n], value)
  end
end
for _, delete in ipairs(deletes) do
  local n, member, sorted, sets = unpack(delete)
  redis.call('DEL', KEYS[n])
  if sorted > 0 then redis.call('ZREM', KEYS[sorted], member) end
  for _, set in ipairs(sets) do redis.call('SREM', KEYS[set], member) end
end
for _, step in ipairs(steps) do
  if redis.call('RPUSH', KEYS[step[1]], struct.pack('>dd', revision, now) .. step[2]) > 256 then
    redis.call('LTRIM', KEYS[step[1]], -256, -1)
  end
end
if #finish > 0 then
  redis.call('ZREM', KEYS[finish[3]], finish[1])
  redis.call('HDEL', KEYS[finish[4]], finish[1])
end
-- Adding an item again takes it from whoever holds it: the work has changed. Attempts go on counting.
for _, item in ipairs(due) do
  local id, body, due_ms, times, items = unpack(item)
  local known = redis.call('HGET', KEYS[items], id)
  local attempt = known and struct.unpack('>I4', known) or 0
  redis.call('HSET', KEYS[items], id, struct.pack('>I4B', attempt, 0) .. body)
  redis.call('ZADD', KEYS[times], due_ms > 0 and due_ms or now, id)
end

if events ~= '' then redis.call('SPUBLISH', channel, string.format('%.0f %.0f', revision, stamp)) end
return {'ok', revision, now, previous}

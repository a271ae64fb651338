-- What every operation on a group in one partition shares: it is put before each of them.
-- An item, that is a pending event, is packed as {delivery, attempts, member, owner, reason, entry}: the number of its
-- last delivery, how often it was given out, who has it ('' = nobody), the owner whose order it stands in ('' = none),
-- why it was given back last, and its log entry where that is not to be looked for in the log (else false).
local state, items, times, waiting, busy, dead, log = unpack(KEYS)
local args = cmsgpack.unpack(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function text(number)
  return string.format('%.0f', number)
end

local function save(id, item, ready)
  redis.call('HSET', items, id, cmsgpack.pack(item))
  redis.call('ZADD', times, text(ready), id)
end

-- Fields of the log entry that an event lies in, nil where the log has it no more.
local function entry_of(id)
  local revision = string.match(id, '^%d+') .. '-0'
  local found = redis.call('XRANGE', log, revision, revision)[1]
  return found and found[2]
end

-- Forget an item that is settled, and let the next event of its owner go.
local function remove(id, item)
  redis.call('HDEL', items, id)
  redis.call('ZREM', times, id)
  local owner = item[4]
  if owner == '' then return end
  local following = redis.call('ZRANGEBYLEX', waiting, '[' .. owner .. ':', '(' .. owner .. ';', 'LIMIT', 0, 1)[1]
  if not following then
    redis.call('SREM', busy, owner)
    return
  end
  redis.call('ZREM', waiting, following)
  local revision, index = string.match(following, ':0*(%d+)-0*(%d+)$')
  save(revision .. '-' .. index, {0, 0, '', owner, '', false}, now)
end

-- Count an item that the log has lost.
local function lose(id, item)
  redis.call('HINCRBY', state, 'x', 1)
  remove(id, item)
end

-- Turn an item into a dead letter; of those the newest are kept, and the others counted.
local function bury(id, item, reason, kept)
  local entry = item[6] or entry_of(id)
  if not entry then return lose(id, item) end
  local sequence = redis.call('HINCRBY', state, 'd', 1)
  redis.call('ZADD', dead, sequence, cmsgpack.pack({sequence, id, item[2], reason, now, entry}))
  local over = redis.call('ZCARD', dead) - kept
  if over > 0 then
    redis.call('HINCRBY', state, 'o', redis.call('ZREMRANGEBYRANK', dead, 0, over - 1))
  end
  remove(id, item)
end

-- Make ready what a member (nil = any) has been given; what it was not at fault for does not count as an attempt.
local function free(member, uncounted)
  local all = redis.call('HGETALL', items)
  for n = 1, #all, 2 do
    local item = cmsgpack.unpack(all[n + 1])
    if item[3] ~= '' and (not member or item[3] == member) then
      item[3] = ''
      item[2] = item[2] - uncounted
      save(all[n], item, now)
    end
  end
end

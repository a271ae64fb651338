-- Create a group unless there is one of its name; return the one there is. KEYS: definition, groups.
-- ARGV: definition, lifetime in ms.
local known = redis.call('GET', KEYS[1])
if known then return known end
local clock = redis.call('TIME')
redis.call('SET', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], string.format('%.0f', clock[1] * 1000 + ARGV[2]), KEYS[1])
return ARGV[1]

-- Remove a group. KEYS: definition, groups, members. ARGV: id, 1 = only if its lifetime is over.
-- Returns whether it was removed.
if redis.call('GETRANGE', KEYS[1], 0, 31) ~= ARGV[1] then return 0 end
local clock = redis.call('TIME')
if ARGV[2] == '1' and tonumber(redis.call('ZSCORE', KEYS[2], KEYS[1])) > clock[1] * 1000 then return 0 end
redis.call('DEL', KEYS[1], KEYS[3])
redis.call('ZREM', KEYS[2], KEYS[1])
return 1

-- Note that a member is there, and that the group is in use. KEYS: definition, groups, members.
-- ARGV: id, member, how long it counts in ms, lifetime of the group in ms. Returns the members, sorted.
if redis.call('GETRANGE', KEYS[1], 0, 31) ~= ARGV[1] then return {'gone'} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[4]), KEYS[1])
redis.call('ZADD', KEYS[3], string.format('%.0f', now + ARGV[3]), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local members = redis.call('ZRANGE', KEYS[3], 0, -1)
table.sort(members)
return {'ok', members}

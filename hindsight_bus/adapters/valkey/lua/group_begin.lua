-- Start at a position unless it has begun. Returns revision and stamp of the cursor.
-- The last key is the set of groups of the partition.
local revision, stamp, id = unpack(args)
redis.call('HSETNX', state, 's', text(stamp))
redis.call('HSETNX', state, 'r', text(revision))
redis.call('SADD', KEYS[8], id)
return redis.call('HMGET', state, 'r', 's')

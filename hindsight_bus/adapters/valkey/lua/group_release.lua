-- Take from a member what it has been given, and the partition of an ordered group.
free(args[1], 1)
if redis.call('HGET', state, 'h') == args[1] then redis.call('HDEL', state, 'h', 'u') end
return {'ok'}

-- Go on from another position; what is pending is dropped, dead letters stay.
local revision, stamp = unpack(args)
if redis.call('EXISTS', state) == 0 then return {'gone'} end
redis.call('DEL', items, times, waiting, busy)
redis.call('HSET', state, 'r', text(revision), 's', text(stamp))
return {'ok'}

-- Take over the partition of an ordered group, or go on holding it.
local member, lease = unpack(args)
local revision, holder, until_ms = unpack(redis.call('HMGET', state, 'r', 'h', 'u'))
if not revision then return {'gone'} end
if holder and holder ~= member and tonumber(until_ms) > now then return {'held'} end
if holder and holder ~= member then free(nil, 0) end
redis.call('HSET', state, 'h', member, 'u', text(now + lease))
return {'ok'}

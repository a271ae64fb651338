-- Let go of the partition of an ordered group, unless the member is still busy there.
local all = redis.call('HVALS', items)
for _, raw in ipairs(all) do
  if cmsgpack.unpack(raw)[3] == args[1] then return {'busy'} end
end
if redis.call('HGET', state, 'h') == args[1] then redis.call('HDEL', state, 'h', 'u') end
return {'ok'}

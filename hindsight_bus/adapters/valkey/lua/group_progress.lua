-- Tell where the group stands; O(pending).
local cursor, stamp, holder, until_ms, lost, dropped = unpack(redis.call('HMGET', state, 'r', 's', 'h', 'u', 'x', 'o'))
if not cursor then return {'gone'} end
local all = redis.call('HGETALL', items)
local lowest = cursor + 1
for n = 1, #all, 2 do
  local revision = tonumber(string.match(all[n], '^%d+'))
  if revision < lowest and not cmsgpack.unpack(all[n + 1])[6] then lowest = revision end
end
local oldest = redis.call('XRANGE', log, text(lowest) .. '-0', '+', 'COUNT', 1)[1]
if not until_ms or tonumber(until_ms) <= now then holder = '' end
local pending = #all / 2 + redis.call('ZCARD', waiting)
local time = oldest and tonumber(oldest[2][4]) or 0
local buried = redis.call('ZCARD', dead)
lost, dropped = tonumber(lost or 0), tonumber(dropped or 0)
return {'ok', tonumber(cursor), tonumber(stamp), pending, buried, lost, lowest, time, holder or '', dropped}

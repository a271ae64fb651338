-- Drop entries with a revision below ARGV[1] and remember the newest one dropped. KEYS: ends, log.
local newest = redis.call('XREVRANGE', KEYS[2], '(' .. ARGV[1] .. '-0', '-', 'COUNT', 1)[1]
if not newest then return 0 end
local fields = newest[2]
local stamp
for n = 1, #fields, 2 do
  if fields[n] == 's' then stamp = fields[n + 1] end
end
redis.call('HSET', KEYS[1], 'tr', string.match(newest[1], '^%d+'), 'ts', stamp)
return redis.call('XTRIM', KEYS[2], 'MINID', '=', ARGV[1] .. '-0')

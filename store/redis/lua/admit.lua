-- Makes room for a lease and notes its name, before it is granted.
-- KEYS: 1 names, 2 touched, 3 ends, 4 settings, 5 the caller's ends.
-- ARGV: 1 resource, 2 caller, 3 whether limits apply, 4 ttl in milliseconds (0:
-- the default). Answers the time, the settings, the end that was noted ('': there
-- was one already), a setting that allows no more and its value.

-- include apart
-- include valid
local names, touched, ends, caller_ends = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local resource, caller, limited, ttl = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4])

local stored = redis.call('HGETALL', KEYS[4])
local settings = {}
for i = 1, #stored, 2 do settings[stored[i]] = stored[i + 1] end

local function full()
  local all, each = config('max_leases'), config('max_leases_per_caller')
  if all ~= -1 and redis.call('ZCOUNT', ends, '(' .. digits(now), '+inf') >= all then
    return 'max_leases', digits(all)
  end
  if each ~= -1 and caller ~= '' and redis.call('ZCOUNT', caller_ends, '(' .. digits(now), '+inf') >= each then
    return 'max_leases_per_caller', digits(each)
  end
end

if ttl == 0 then ttl = math.min(config('default_ttl_seconds'), config('max_ttl_seconds')) * 1000 end
local score = redis.call('ZSCORE', ends, resource)
local live = score and (score == 'inf' or tonumber(score) > now)
if limited and not live then
  local setting, value = full()
  if setting then return {digits(now), stored, '', setting, value} end
end
redis.call('ZADD', names, 0, resource)
redis.call('HSET', touched, resource, digits(micros))
if live then return {digits(now), stored, '', '', ''} end
redis.call('ZREMRANGEBYSCORE', ends, '-inf', digits(now))
local noted = ttl == -1 and 'inf' or digits(now + ttl)
redis.call('ZADD', ends, noted, resource)
if caller ~= '' then
  redis.call('ZREMRANGEBYSCORE', caller_ends, '-inf', digits(now))
  redis.call('ZADD', caller_ends, noted, resource)
end
return {digits(now), stored, noted, '', ''}

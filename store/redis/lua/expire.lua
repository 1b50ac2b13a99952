-- Records ends that time alone brought. Answers how many milliseconds the next
-- one is away; -1 if there is none. ARGV 5: whether the sweep asks, which
-- also does it where the setting says not to do it ahead of need.

-- include begin
-- include settings
-- include history
-- include forget_ended
if ARGV[5] == '1' or config('auto_expire_enabled') then
  if forget_ended(1000) == 1000 then return 0 end
end
local first = call('ZRANGEBYSCORE', ends_key, '(' .. digits(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not first[2] or first[2] == 'inf' then return -1 end
return math.max(1, tonumber(first[2]) - now)

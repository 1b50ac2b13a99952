-- Records ends that time alone brought. Answers how many there were, and how many
-- milliseconds the next one is away; -1 if there is none. ARGV 5: whether to do it
-- also where the setting says not to do it ahead of need.

-- include begin
-- include settings
-- include history
-- include forget_ended
local count, most = 0, 1000
if ARGV[5] == '1' or config('auto_expire_enabled') then count = forget_ended(most) end
if count == most then return {count, 0} end
local first = call('ZRANGEBYSCORE', ends_key, '(' .. at, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not first[2] or first[2] == 'inf' then return {count, -1} end
return {count, math.max(1, tonumber(first[2]) - now)}

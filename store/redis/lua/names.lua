-- Reads names in order, and when each was last touched. KEYS: 1 names, 2 touched.
-- ARGV: 1 and 2 the range, 3 how many.

-- include apart
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local touched = {}
if #names > 0 then
  for i, at in ipairs(redis.call('HMGET', KEYS[2], unpack(names))) do touched[i] = at or '0' end
end
return {digits(micros), names, touched}

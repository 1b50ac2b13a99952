-- Undoes admit, or notes that a lease has ended. KEYS: 1 ends, 2 the caller's
-- ends. ARGV: 1 resource, 2 the end that was noted ('': whatever stands).

for _, key in ipairs(KEYS) do
  local score = redis.call('ZSCORE', key, ARGV[1])
  if score and (ARGV[2] == '' or score == ARGV[2]) then redis.call('ZREM', key, ARGV[1]) end
end
return 1

-- Lets a claim last as long as its lease. KEYS: 1 the id. ARGV: 1 resource,
-- 2 ttl in milliseconds.

-- include apart
if redis.call('HGET', KEYS[1], 'resource') == ARGV[1] then last_for(KEYS[1], tonumber(ARGV[2])) end
return 1

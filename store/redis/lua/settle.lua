-- Says that a claim is no longer pending. KEYS: 1 the id. ARGV: 1 mark.

-- include apart
if redis.call('HGET', KEYS[1], 'mark') == ARGV[1] then redis.call('HSET', KEYS[1], 'until', '0') end
return 1

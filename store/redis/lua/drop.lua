-- Drops the claim of a lease that has ended. KEYS: 1 the id. ARGV: 1 mark.

-- include apart
if redis.call('HGET', KEYS[1], 'mark') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1

-- Drops a name that has no lease, unless somebody may be about to acquire it.
-- KEYS: 1 names, 2 touched. ARGV: 1 resource, 2 when it was touched as far as is
-- known.

-- include apart
local touched = redis.call('HGET', KEYS[2], ARGV[1]) or '0'
if touched ~= ARGV[2] or tonumber(touched) > micros - 2 * PENDING * 1000 then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1

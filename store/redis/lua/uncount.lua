-- Drops leases past their end from the counts, and answers how many there were.
-- KEYS: 1 ends.

-- include apart
return redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', digits(now))

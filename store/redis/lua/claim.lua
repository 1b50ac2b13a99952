-- Claims an id for a resource, before its lease is granted. While a claim is
-- pending nobody else gets the id. KEYS: 1 the id. ARGV: 1 resource, 2 mark,
-- 3 ttl in milliseconds, 4 and 5 another's claim that is known to be dead, by
-- resource and mark. Answers the resource and the mark of the claim that stands,
-- and whether it is pending.

-- include apart
local current = redis.call('HMGET', KEYS[1], 'resource', 'mark', 'until')
local theirs, mark, pending = current[1], current[2], tonumber(current[3] or '0') > now
if theirs and theirs ~= ARGV[1] and (pending or theirs ~= ARGV[4] or mark ~= ARGV[5]) then
  return {theirs, mark, pending and 1 or 0}
end
redis.call('HSET', KEYS[1], 'resource', ARGV[1], 'mark', ARGV[2], 'until', digits(now + PENDING))
last_for(KEYS[1], tonumber(ARGV[3]))
return {ARGV[1], ARGV[2], 0}

-- Takes back the end that was noted for a lease, unless another one stands there
-- by now. KEYS: 1 ends, 2 the caller's ends. ARGV: 1 resource, 2 the end.

-- include apart
for _, key in ipairs(KEYS) do
  if redis.call('ZSCORE', key, ARGV[1]) == ARGV[2] then redis.call('ZREM', key, ARGV[1]) end
end
return 1

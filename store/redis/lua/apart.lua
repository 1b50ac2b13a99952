-- What the scripts of the indexes on a Cluster share. They run on other nodes
-- than those of the leases, before and after them.

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local function digits(n) return string.format('%.0f', n) end

local DAY, PENDING = 86400000, 5000

-- last_for lets a key last at least as long as a lease that ends after ttl, and a
-- day more.
local function last_for(key, ttl)
  if ttl == -1 then
    redis.call('PERSIST', key)
  elseif redis.call('PTTL', key) < ttl + DAY then
    redis.call('PEXPIRE', key, digits(ttl + DAY))
  end
end

-- Acquires, once. ARGV: 5 id, 6 whether the store made it, 7 holder, 8 ttl in
-- milliseconds (0: the default), 9 limit of renewals ('': the default),
-- 10 caller, 11 how long a waiter wants to be woken (0: none waits), 12 whether to
-- grant nothing new, because others wait, 13… metadata.
-- Of a new lease it answers no metadata: the program has them.

-- include begin
-- include settings
-- include history

local id, made, holder, ms, ttl = ARGV[5], ARGV[6] == '1', ARGV[7], ARGV[8], tonumber(ARGV[8])
local limit, caller = ARGV[9], ARGV[10]

local longest = config('max_ttl_seconds') * 1000
if ttl > longest then return answer('invalid_argument', nil, 'ttl_seconds', format('%.0f', longest)) end
if ttl == 0 then
  ttl = math.min(config('default_ttl_seconds') * 1000, longest)
  ms = format('%.0f', ttl)
end
if limit == '' then limit = format('%d', config('max_renewals')) end

local key = lease_key
-- include load
if row and row.leaseId == id and row.state == 'active' and row.holder == holder then
  local flag = 'idempotent' -- a repeated acquire of the lease already held
  if not together then call('HSET', lease_key, 'claim', mark) end
  -- include extend
end
if not made then
  -- include unusable
  local reason = unusable(row, id)
  if reason then return answer(reason, row) end
end
if row then
  if ARGV[11] ~= '0' then call('HSET', lease_key, 'waiting', format('%.0f', now + ARGV[11])) end
  return answer(row.state == 'breaking' and 'lease_breaking' or 'lease_held', row)
end
if ARGV[12] == '1' then return answer('lease_held') end

local setting, value, noted
if together then
  -- include full
else
  local found = cjson.decode(facts) -- by the program, before
  setting, value, noted = found.full, found.full_at, found.noted
  if found.deadline and now > tonumber(found.deadline) then
    return answer('store_unavailable', nil, '', 'the request came too late: its claim on the id may have ended')
  end
end
if setting then return answer('too_many_leases', nil, setting, value) end

local last = redis.pcall('GET', token_key)
-- include next_token
local token, ends = next, '-1'

if HISTORY then record_end(resource) end
if ended then call('DEL', lease_key) end
if ttl ~= -1 then ends = format('%.0f', now + ttl) end
call('HSET', lease_key, 'leaseId', id, 'holder', holder, 'token', token, 'state', 'active',
  'acquiredAt', at, 'renewedAt', at, 'ttlMs', ms, 'endsAt', ends, 'renewals', '0', 'maxRenewals', limit, 'op', mark)
local first = 13
-- include metadata
if caller ~= '' then call('HSET', lease_key, 'caller', caller) end
if not together then call('HSET', lease_key, 'claim', mark) end
if noted then call('HSET', lease_key, 'noted', noted) end -- the end that was noted before, by another clock
if ttl == -1 then
  call('SET', token_key, token)
else
  call('PEXPIREAT', lease_key, ends)
  call('SET', token_key, token, 'PX', format('%.0f', ttl + DAY))
end
if together then
  local score = ttl == -1 and '+inf' or ends
  if ttl == -1 then
    call('SET', prefix .. 'leaseid:' .. id, resource)
  else
    call('SET', prefix .. 'leaseid:' .. id, resource, 'PX', ms)
  end
  call('ZADD', names_key, '0', resource)
  call('ZADD', ends_key, score, resource)
  if caller ~= '' then call('ZADD', prefix .. 'leasecaller:' .. caller, score, resource) end
  if HISTORY then save_open('active', '0', token, holder) end
end
if HISTORY then record('acquired', resource, holder, token, 'available', 'active', '0', '', '{"ends_in_ms":"' .. ms .. '"}') end
return {'', time[1], time[2], 'granted', '', id, holder, token, 'active', at, at, ms, ends, '0', limit}

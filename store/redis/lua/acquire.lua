-- Acquires, once. ARGV: 7 id, 8 whether the store made it, 9 holder, 10 ttl in
-- milliseconds (0: the default), 11 limit of renewals ('': the default),
-- 12 caller, 13 how long a waiter wants to be woken (0: none waits), 14 whether to
-- grant nothing new, because others wait, 15… metadata.
-- Of a new lease it answers what the program does not know.

local id, made, holder, ttl = ARGV[7], ARGV[8] == '1', ARGV[9], tonumber(ARGV[10])
local limit, caller = ARGV[11], ARGV[12]

if ttl == 0 then
  ttl = math.min(config('default_ttl_seconds'), config('max_ttl_seconds')) * 1000
else
  local most = too_long(ttl)
  if most then return answer('invalid_argument', nil, 'ttl_seconds', most) end
end
if limit == '' then limit = digits(config('max_renewals')) end

local row, list, ended = load(lease_key)
if row and row.leaseId == id and row.state == 'active' and row.holder == holder then
  if not together then call('HSET', lease_key, 'claim', mark) end
  return extend(row, list, ttl, 'idempotent') -- a repeated acquire of the lease already held
end
if not made then
  local reason = unusable(row, id)
  if reason then return answer(reason, list) end
end
if row then
  if ARGV[13] ~= '0' then call('SET', waiting_key, '1', 'PX', ARGV[13]) end
  return answer(row.state == 'breaking' and 'lease_breaking' or 'lease_held', list)
end
if ARGV[14] == '1' then return answer('lease_held') end
local deadline = apart('deadline')
if deadline and now > tonumber(deadline) then
  return answer('store_unavailable', nil, '', 'the request came too late: its claim on the id may have ended')
end
local setting, value = full(caller)
if setting then return answer('too_many_leases', nil, setting, value) end
local token = next_token(call('GET', token_key))
if not token then return answer('store_unavailable', nil, '', 'the token counter has reached its end at 2^53') end

local at, ms = digits(now), digits(ttl)
local ends = ttl == -1 and '-1' or digits(now + ttl)
record_end(resource)
if ended then call('DEL', lease_key) end
local fields = {
  'leaseId', id, 'holder', holder, 'token', token, 'state', 'active', 'acquiredAt', at, 'renewedAt', at,
  'ttlMs', ms, 'endsAt', ends, 'renewals', '0', 'maxRenewals', limit, 'op', mark,
}
local n = #fields
for i = 15, #ARGV, 2 do
  fields[n + 1], fields[n + 2] = 'meta_' .. ARGV[i], ARGV[i + 1]
  n = n + 2
end
if caller ~= '' then
  fields[n + 1], fields[n + 2] = 'caller', caller
  n = n + 2
end
if not together then
  fields[n + 1], fields[n + 2] = 'claim', mark
  local noted = apart('noted') -- the end that was noted before, by another clock
  if noted then fields[n + 3], fields[n + 4] = 'noted', noted end
end
call('HSET', lease_key, unpack(fields))
save_token(token, ends)
if ends ~= '-1' then call('PEXPIREAT', lease_key, ends) end
if together then
  if ends == '-1' then
    call('SET', id_key_of(id), resource)
  else
    call('SET', id_key_of(id), resource, 'PX', ms)
  end
  local score = ends == '-1' and '+inf' or ends
  call('ZADD', names_key, '0', resource)
  call('ZADD', ends_key, score, resource)
  if caller ~= '' then call('ZADD', caller_key_of(caller), score, resource) end
  save_open('active', '0', token, holder)
end
record('acquired', resource, holder, token, 'available', 'active', '0')
return answer('', {'token', token, 'acquiredAt', at, 'renewedAt', at, 'ttlMs', ms, 'endsAt', ends, 'maxRenewals', limit},
  nil, nil, 'granted')

-- Acquires, once. ARGV: 7 id, 8 whether the store made it, 9 holder, 10 ttl in
-- milliseconds (0: the default), 11 limit of renewals ('': the default),
-- 12 caller, 13 how long a waiter wants to be woken (0: none waits), 14… metadata.

local id, made, holder, ttl = ARGV[7], ARGV[8] == '1', ARGV[9], tonumber(ARGV[10])
local limit, caller, waits = ARGV[11], ARGV[12], tonumber(ARGV[13])

-- full returns the setting that allows no more live leases, and its value.
local function full()
  if is_health(resource) then return nil end
  if not together then return apart('full'), apart('full_at') end
  local all, each = config('max_leases'), config('max_leases_per_caller')
  if all ~= -1 and redis.call('ZCARD', ends_key) >= all then
    while forget_ended(1000) == 1000 do end
    if redis.call('ZCARD', ends_key) >= all then return 'max_leases', digits(all) end
  end
  if each ~= -1 and caller ~= '' then
    local key = caller_key_of(caller)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', digits(now))
    if redis.call('ZCARD', key) >= each then return 'max_leases_per_caller', digits(each) end
  end
  return nil
end

local function grant(token)
  local row = {
    leaseId = id, holder = holder, token = token, state = 'active',
    acquiredAt = digits(now), renewedAt = digits(now),
    ttlMs = digits(ttl), endsAt = ttl == -1 and '-1' or digits(now + ttl),
    renewals = '0', maxRenewals = limit, op = mark,
  }
  if caller ~= '' then row.caller = caller end
  if not together then row.claim = mark end
  for i = 14, #ARGV, 2 do row['meta_' .. ARGV[i]] = ARGV[i + 1] end
  record_end(resource)
  redis.call('DEL', lease_key)
  redis.call('HSET', lease_key, unpack(as_list(row)))
  save_id(id)
  if together then redis.call('ZADD', names_key, 0, resource) end
  save_end(row)
  record_row('acquired', row, 'available')
  return answer('', row, nil, nil, 'granted')
end

if ttl == 0 then
  ttl = math.min(config('default_ttl_seconds'), config('max_ttl_seconds')) * 1000
else
  local most = too_long(ttl)
  if most then return answer('invalid_argument', nil, 'ttl_seconds', most) end
end
if limit == '' then limit = digits(config('max_renewals')) end

local row = load(lease_key)
if row and row.leaseId == id and row.state == 'active' and row.holder == holder then
  if not together then redis.call('HSET', lease_key, 'claim', mark) end
  return extend(row, ttl, 'idempotent') -- a repeated acquire of the lease already held
end
if not made then
  local reason = unusable(row, id)
  if reason then return answer(reason, row) end
end
if row then
  if waits > 0 then redis.call('SET', waiting_key, '1', 'PX', digits(waits)) end
  return answer(row.state == 'breaking' and 'lease_breaking' or 'lease_held', row)
end
local deadline = apart('deadline')
if deadline and now > tonumber(deadline) then
  return answer('store_unavailable', nil, '', 'the request came too late: its claim on the id may have ended')
end
local setting, value = full()
if setting then return answer('too_many_leases', nil, setting, value) end
local token = next_token()
if not token then return answer('store_unavailable', nil, '', 'the token counter has reached its end at 2^53') end
return grant(token)

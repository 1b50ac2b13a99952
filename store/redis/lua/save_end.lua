-- set_expiry lets a key last as long as the lease.
local function set_expiry(key, ends)
  if ends == '-1' then
    call('PERSIST', key)
  else
    call('PEXPIREAT', key, ends)
  end
end

-- save_end makes the key, the token and the indexes last as long as the lease.
local function save_end(row)
  local ends = row.endsAt
  set_expiry(lease_key, ends)
  if ends == '-1' then
    call('SET', token_key, row.token)
  else
    call('SET', token_key, row.token, 'PX', digits(ends - now + DAY))
  end
  if not together then return end
  local score = ends == '-1' and '+inf' or ends
  call('ZADD', ends_key, score, resource)
  set_expiry(prefix .. 'leaseid:' .. row.leaseId, ends)
  if row.former then set_expiry(prefix .. 'leaseid:' .. row.former, ends) end
  if row.caller then call('ZADD', prefix .. 'leasecaller:' .. row.caller, score, resource) end
  save_open(row.state, row.renewals, row.token, row.holder)
end

-- Makes the key, the token and the indexes last as long as the lease row.

-- set_expiry lets a key last as long.
local function set_expiry(key)
  if row.endsAt == '-1' then
    call('PERSIST', key)
  else
    call('PEXPIREAT', key, row.endsAt)
  end
end

set_expiry(lease_key)
if row.endsAt == '-1' then
  call('SET', token_key, row.token)
else
  call('SET', token_key, row.token, 'PX', digits(row.endsAt - now + DAY))
end
if together then
  local score = row.endsAt == '-1' and '+inf' or row.endsAt
  call('ZADD', ends_key, score, resource)
  set_expiry(prefix .. 'leaseid:' .. row.leaseId)
  if row.former then set_expiry(prefix .. 'leaseid:' .. row.former) end
  if row.caller then call('ZADD', prefix .. 'leasecaller:' .. row.caller, score, resource) end
  save_open(row.state, row.renewals, row.token, row.holder)
end

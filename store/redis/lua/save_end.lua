-- Makes the key, the token and the indexes last as long as the lease row.
if row.endsAt == '-1' then
  call('PERSIST', lease_key)
  call('SET', token_key, row.token)
else
  call('PEXPIREAT', lease_key, row.endsAt)
  call('SET', token_key, row.token, 'PX', format('%.0f', row.endsAt - now + DAY))
end
if together then
  for _, id in ipairs({row.leaseId, row.former or nil}) do
    if row.endsAt == '-1' then
      call('PERSIST', prefix .. 'leaseid:' .. id)
    else
      call('PEXPIREAT', prefix .. 'leaseid:' .. id, row.endsAt)
    end
  end
  local score = row.endsAt == '-1' and '+inf' or row.endsAt
  call('ZADD', ends_key, score, resource)
  if row.caller then call('ZADD', prefix .. 'leasecaller:' .. row.caller, score, resource) end
  if HISTORY then save_open(row.state, row.renewals, row.token, row.holder) end
end

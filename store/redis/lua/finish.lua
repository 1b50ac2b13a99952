-- Ends the live lease row, and answers. Wants: state, what it becomes; why.
-- What is left of it, for a minute, shows a caller who lost the answer that this
-- operation did it.

local before, ends = row.state, row.endsAt
row.state, row.endsAt = state, digits(now)
call('HSET', lease_key, 'state', state, 'endsAt', row.endsAt, 'op', mark)
if not together then
  row.endedFrom = row.noted or ends
  call('HSET', lease_key, 'endedFrom', row.endedFrom)
end
call('RENAME', lease_key, ended_key)
call('PEXPIRE', ended_key, '60000')
if ends == '-1' then call('SET', token_key, row.token, 'PX', DAY) end
if together then
  call('DEL', prefix .. 'leaseid:' .. row.leaseId)
  if row.former then call('DEL', prefix .. 'leaseid:' .. row.former) end
  call('ZREM', names_key, resource)
  call('ZREM', ends_key, resource)
  if row.caller then call('ZREM', prefix .. 'leasecaller:' .. row.caller, resource) end
  drop_open()
end
record(state, resource, row.holder, row.token, before, state, row.renewals, why)
-- include wake
return answer('', row, nil, nil, 'ended')

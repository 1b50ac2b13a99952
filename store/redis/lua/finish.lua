-- Ends the live lease row, and answers. Wants: state, what it becomes; why.
-- The answer is kept for a minute: it shows a caller who lost it that this operation
-- did it.

local before, ends = row.state, row.endsAt
row.state, row.endsAt, row.op = state, at, mark
if not together then row.endedFrom = row.noted or ends end
local list = answer('', row, 'ended')
call('SET', ended_key, cjson.encode(list), 'PX', '60000')
if ends == '-1' then call('SET', token_key, row.token, 'PX', DAY) end
if together then
  call('DEL', lease_key, prefix .. 'leaseid:' .. row.leaseId)
  if row.former then call('DEL', prefix .. 'leaseid:' .. row.former) end
  call('ZREM', names_key, resource)
  call('ZREM', ends_key, resource)
  if row.caller then call('ZREM', prefix .. 'leasecaller:' .. row.caller, resource) end
  if HISTORY then drop_open() end
else
  call('DEL', lease_key)
end
if HISTORY then record(state, resource, row.holder, row.token, before, state, row.renewals, why) end
-- include wake
return list

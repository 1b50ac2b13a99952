-- Swaps the id of an active lease. ARGV: 5 id, 6 holder, 7 token, 8 the
-- proposed id.

-- include begin
-- include history
-- include unusable
local id, holder, token, proposed = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local key = lease_key
-- include load
if row and row.state == 'active' and row.leaseId == proposed and row.former == id and row.handed ~= '1' then
  local id = proposed -- it happened before
  -- include match
  return answer(reason, reason == '' and row or nil)
end
-- include match
if reason ~= '' then return answer(reason) end
if row.state == 'breaking' then return answer('lease_breaking', row) end
reason = unusable(row, proposed)
if reason then return answer(reason, nil, 'proposed_lease_id') end
if proposed == id then return answer('', row) end
if together then
  if row.former then call('DEL', prefix .. 'leaseid:' .. row.former) end
  call('SET', prefix .. 'leaseid:' .. proposed, resource)
else
  row.claim = mark
  call('HSET', lease_key, 'claim', mark)
end
row.leaseId, row.former, row.handed = proposed, id, '0'
call('HSET', lease_key, 'leaseId', proposed, 'former', id, 'handed', '0', 'op', mark)
-- include save_end
if HISTORY then record('changed', resource, row.holder, row.token, row.state, row.state, row.renewals, '', ends_in(row.endsAt)) end
return answer('', row)

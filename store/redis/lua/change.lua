-- Swaps the id of an active lease. ARGV: 5 id, 6 holder, 7 token, 8 the
-- proposed id.

-- include begin
-- include history
-- include match
-- include unusable
-- include put
-- include save_end
local id, proposed = ARGV[5], ARGV[8]
local row, list = load(lease_key)
if row and row.state == 'active' and row.leaseId == proposed and row.former == id and row.handed ~= '1' then
  local reason = match(row, proposed, ARGV[6], ARGV[7]) -- it happened before
  return answer(reason, reason == '' and list or nil)
end
local reason = match(row, id, ARGV[6], ARGV[7])
if reason ~= '' then return answer(reason) end
if row.state == 'breaking' then return answer('lease_breaking', list) end
reason = unusable(row, proposed)
if reason then return answer(reason, nil, 'proposed_lease_id') end
if proposed == id then return answer('', list) end
if together then
  if row.former then call('DEL', prefix .. 'leaseid:' .. row.former) end
  call('SET', prefix .. 'leaseid:' .. proposed, resource)
else
  put(row, list, 'claim', mark)
  call('HSET', lease_key, 'claim', mark)
end
put(row, list, 'leaseId', proposed)
put(row, list, 'former', id)
put(row, list, 'handed', '0')
call('HSET', lease_key, 'leaseId', proposed, 'former', id, 'handed', '0', 'op', mark)
save_end(row)
record('changed', resource, row.holder, row.token, row.state, row.state, row.renewals)
return answer('', list)

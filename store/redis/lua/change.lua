-- Swaps the id of an active lease. ARGV: 7 id, 8 holder, 9 token, 10 the
-- proposed id.

local id, proposed = ARGV[7], ARGV[10]
local row, list = load(lease_key)
if row and row.state == 'active' and row.leaseId == proposed and row.former == id and row.handed ~= '1' then
  local reason = match(row, proposed, ARGV[8], ARGV[9]) -- it happened before
  return answer(reason, reason == '' and list or nil)
end
local reason = match(row, id, ARGV[8], ARGV[9])
if reason ~= '' then return answer(reason) end
if row.state == 'breaking' then return answer('lease_breaking', list) end
reason = unusable(row, proposed)
if reason then return answer(reason, nil, 'proposed_lease_id') end
if proposed == id then return answer('', list) end
if together then
  if row.former then call('DEL', id_key_of(row.former)) end
  call('SET', id_key_of(proposed), resource)
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

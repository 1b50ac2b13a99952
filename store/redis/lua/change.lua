-- Swaps the id of an active lease. ARGV: 7 id, 8 holder, 9 token, 10 the
-- proposed id.

local id, proposed = ARGV[7], ARGV[10]
local row = load(lease_key)
if row and row.state == 'active' and row.leaseId == proposed and row.former == id and row.handed ~= '1' then
  local reason = match(row, proposed, ARGV[8], ARGV[9]) -- it happened before
  return answer(reason, reason == '' and row or nil)
end
local reason = match(row, id, ARGV[8], ARGV[9])
if reason ~= '' then return answer(reason, nil) end
if row.state == 'breaking' then return answer('lease_breaking', row) end
reason = unusable(row, proposed)
if reason then return answer(reason, nil, 'proposed_lease_id') end
if proposed == id then return answer('', row) end
if together and row.former then redis.call('DEL', id_key_of(row.former)) end
row.leaseId, row.former, row.handed, row.op = proposed, id, '0', mark
redis.call('HSET', lease_key, 'leaseId', proposed, 'former', id, 'handed', '0', 'op', mark)
save_id(proposed)
if not together then redis.call('HSET', lease_key, 'claim', mark) end
save_end(row)
record_row('changed', row, row.state)
return answer('', row)

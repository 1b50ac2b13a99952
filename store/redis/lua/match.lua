-- match compares what the caller shows with the lease.
local function match(row, id, holder, token)
  if not row then return 'lease_not_found' end
  if row.former == id and row.handed == '1' then return 'lease_released' end
  if row.leaseId ~= id then return 'lease_not_found' end
  if holder ~= '' and holder ~= row.holder then return 'holder_mismatch' end
  if token ~= '0' and token ~= row.token then return 'token_mismatch' end
  return ''
end

-- Sets reason if what the caller shows is not that of the lease row; '': it is.
-- Wants: id; holder ('': any); token ('0': any).
local reason = ''
if not row then
  reason = 'lease_not_found'
elseif row.former == id and row.handed == '1' then
  reason = 'lease_released'
elseif row.leaseId ~= id then
  reason = 'lease_not_found'
elseif holder ~= '' and holder ~= row.holder then
  reason = 'holder_mismatch'
elseif token ~= '0' and token ~= row.token then
  reason = 'token_mismatch'
end

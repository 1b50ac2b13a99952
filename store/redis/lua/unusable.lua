-- include lease_key_of

-- unusable says why a proposed id cannot be that of a new lease.
local function unusable(row, id)
  if row and row.former == id then return 'lease_released' end
  if not together then return cjson.decode(facts).unusable end -- the program has claimed the id
  local name = call('GET', prefix .. 'leaseid:' .. id)
  if not name or name == resource then return nil end
  local key = lease_key_of(name)
  -- include load
  if not row then return nil end
  if row.leaseId == id then return 'lease_id_in_use' end
  if row.former == id then return 'lease_released' end
  return nil
end

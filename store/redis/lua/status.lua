-- Reads the lease. ARGV 5: the mark of an operation whose answer was lost, or ''.

-- include begin
local key = lease_key
-- include load
if ARGV[5] == '' or (row and row.op == ARGV[5]) then return answer('', row) end
local kept = call('GET', ended_key)
if kept then
  local list = cjson.decode(kept)
  local row = {unpack(list, 6)}
  if row.op == ARGV[5] then return list end
end
return answer('unknown')

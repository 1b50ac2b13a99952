-- Reads the lease. ARGV 5: the mark of an operation whose answer was lost, or ''.

-- include begin
local row = load(lease_key)
if ARGV[5] == '' or (row and row.op == ARGV[5]) then return answer('', row) end
row = call('HMGET', ended_key, FIELDS)
if row.op == ARGV[5] then return answer('', row, nil, nil, 'ended') end
return answer('unknown')

-- Reads the lease. ARGV 5: the mark of an operation whose answer was lost, or ''.

-- include begin
local row, list = load(lease_key)
if ARGV[5] == '' or (row and row.op == ARGV[5]) then return answer('', list) end
list = call('HGETALL', ended_key)
if as_table(list).op == ARGV[5] then return answer('', list) end
return answer('unknown')

-- Reads the lease. ARGV 7: the mark of an operation whose answer was lost, or ''.

local row, list = load(lease_key)
if ARGV[7] == '' or (row and row.op == ARGV[7]) then return answer('', list) end
local ended = call('GET', ended_key)
if not ended or string.sub(ended, 1, #ARGV[7]) ~= ARGV[7] then return answer('unknown') end
return answer('', cmsgpack.unpack(string.sub(ended, #ARGV[7] + 1)))

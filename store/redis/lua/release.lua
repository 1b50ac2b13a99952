-- Ends the lease whose id is shown. ARGV: 7 id, 8 holder, 9 token, 10 why.

local row, list = load(lease_key)
local reason = match(row, ARGV[7], ARGV[8], ARGV[9])
if reason ~= '' then return answer(reason) end
return finish(row, list, 'released', ARGV[10])

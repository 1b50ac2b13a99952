-- Ends the lease whose id is shown. ARGV: 5 id, 6 holder, 7 token, 8 why.

-- include begin
local key, id, holder, token = lease_key, ARGV[5], ARGV[6], ARGV[7]
-- include load
-- include match
if reason ~= '' then return answer(reason) end

-- include history
local state, why = 'released', ARGV[8]
-- include finish

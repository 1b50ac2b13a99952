-- Records that a wait ended without a grant. ARGV: 5 holder, 6 why, 7 how long it
-- waited, in milliseconds.

-- include begin
-- include history
local key = lease_key
-- include load
local state = row and row.state or 'available'
if HISTORY then record('failed', resource, ARGV[5], '0', state, state, '0', ARGV[6], cjson.encode({waited_ms = ARGV[7]})) end
return 1

-- Records that a wait ended without a grant. ARGV: 7 holder, 8 why, 9 how long it
-- waited, in milliseconds.

local row = load(lease_key)
local state = row and row.state or 'available'
record('failed', resource, ARGV[7], '0', state, state, '0', ARGV[8], {waited_ms = ARGV[9]})
return 1

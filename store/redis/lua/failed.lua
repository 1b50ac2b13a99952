-- Records that a wait ended without a grant. ARGV: 5 holder, 6 why, 7 how long it
-- waited, in milliseconds.

-- include begin
-- include history
local row = load(lease_key)
local state = row and row.state or 'available'
record('failed', resource, ARGV[5], '0', state, state, '0', ARGV[6], {waited_ms = ARGV[7]})
return 1

-- Restarts the ttl. ARGV: 7 id, 8 holder, 9 token, 10 ttl in milliseconds
-- (0: as it was).

local ttl = tonumber(ARGV[10])
local most = ttl ~= 0 and too_long(ttl)
if most then return answer('invalid_argument', nil, 'ttl_seconds', most) end
local row, list = load(lease_key)
local reason = match(row, ARGV[7], ARGV[8], ARGV[9])
if reason ~= '' then return answer(reason) end
if row.state == 'breaking' then return answer('lease_breaking', list) end
return extend(row, list, ttl)

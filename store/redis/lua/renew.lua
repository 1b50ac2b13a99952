-- Restarts the ttl. ARGV: 5 id, 6 holder, 7 token, 8 ttl in milliseconds
-- (0: as it was).

-- include begin
-- include history
local key, id, holder, token = lease_key, ARGV[5], ARGV[6], ARGV[7]
local ttl, flag = tonumber(ARGV[8]), ''
if ttl > 0 then
  -- include settings
  local longest = config('max_ttl_seconds') * 1000
  if ttl > longest then return answer('invalid_argument', nil, 'ttl_seconds', format('%.0f', longest)) end
end

-- include load
-- include match
if reason ~= '' then return answer(reason) end
if row.state == 'breaking' then return answer('lease_breaking', row) end

-- include extend

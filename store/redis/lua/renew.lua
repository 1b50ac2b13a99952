-- Restarts the ttl. ARGV: 5 id, 6 holder, 7 token, 8 ttl in milliseconds
-- (0: as it was).

-- include begin
-- include settings
-- include history
local ttl, flag = tonumber(ARGV[8]), ''
if ttl > 0 then
  local longest = config('max_ttl_seconds') * 1000
  if ttl > longest then return answer('invalid_argument', nil, 'ttl_seconds', digits(longest)) end
end

-- include match
local row = load(lease_key)
local reason = match(row, ARGV[5], ARGV[6], ARGV[7])
if reason ~= '' then return answer(reason) end
if row.state == 'breaking' then return answer('lease_breaking', row) end

-- include extend

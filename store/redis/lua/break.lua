-- Ends a lease without its id, now or after a period. ARGV: 5 period in
-- milliseconds, 6 why.

-- include begin
-- include history
local key = lease_key
-- include load
if not row then return answer('lease_not_found') end
local ends, before = now + tonumber(ARGV[5]), tonumber(row.endsAt)
if before ~= -1 then ends = math.min(ends, before) end
if ends <= now then
  local state, why = 'broken', ARGV[6]
  -- include finish
end
if row.state == 'breaking' and ends == before then return answer('', row) end
local state = row.state
row.state, row.endsAt = 'breaking', format('%.0f', ends)
call('HSET', lease_key, 'state', row.state, 'endsAt', row.endsAt, 'op', mark)
if not together then call('HDEL', lease_key, 'noted') end -- the program notes the new end
-- include save_end
if HISTORY then record('breaking', resource, row.holder, row.token, state, 'breaking', row.renewals, ARGV[6], ends_in(row.endsAt)) end
-- include wake
return answer('', row)

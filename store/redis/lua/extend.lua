-- Restarts the ttl of the live lease row from now, and answers. Wants: ttl in
-- milliseconds (0: as it was); flag, for the answer.

local limit, renewals, before = tonumber(row.maxRenewals), tonumber(row.renewals), tonumber(row.endsAt)
if limit ~= -1 and renewals >= limit then return answer('max_renewals_exceeded', row) end
if ttl == 0 then ttl = tonumber(row.ttlMs) end
row.ttlMs, row.renewedAt, row.renewals = format('%.0f', ttl), at, format('%.0f', renewals + 1)
row.endsAt = ttl == -1 and '-1' or format('%.0f', now + ttl)
call('HSET', lease_key, 'ttlMs', row.ttlMs, 'endsAt', row.endsAt,
  'renewedAt', row.renewedAt, 'renewals', row.renewals, 'op', mark)
if not together then call('HDEL', lease_key, 'noted') end -- the program notes the new end
-- include save_end
if HISTORY then record('renewed', resource, row.holder, row.token, row.state, row.state, row.renewals, '', ends_in(row.endsAt)) end
if ttl ~= -1 and (before == -1 or now + ttl < before) then
  -- include wake
end
return answer('', row, flag)

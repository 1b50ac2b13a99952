-- include put
-- include save_end
-- include wake

-- extend restarts the ttl from now.
local function extend(row, list, ttl, flag)
  local limit, renewals = tonumber(row.maxRenewals), tonumber(row.renewals)
  if limit ~= -1 and renewals >= limit then return answer('max_renewals_exceeded', list) end
  local before = tonumber(row.endsAt)
  if ttl == 0 then ttl = tonumber(row.ttlMs) end
  put(row, list, 'ttlMs', digits(ttl))
  put(row, list, 'endsAt', ttl == -1 and '-1' or digits(now + ttl))
  put(row, list, 'renewedAt', digits(now))
  put(row, list, 'renewals', digits(renewals + 1))
  call('HSET', lease_key, 'ttlMs', row.ttlMs, 'endsAt', row.endsAt,
    'renewedAt', row.renewedAt, 'renewals', row.renewals, 'op', mark)
  if not together then call('HDEL', lease_key, 'noted') end -- the program notes the new end
  save_end(row)
  record('renewed', resource, row.holder, row.token, row.state, row.state, row.renewals)
  if ttl ~= -1 and (before == -1 or now + ttl < before) then wake(row) end
  return answer('', list, nil, nil, flag)
end

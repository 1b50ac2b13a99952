-- Sets setting and value if a setting allows no more live leases. Wants: caller.
if string.sub(resource, 1, 15) ~= '__healthcheck__' then
  local all, each = config('max_leases'), config('max_leases_per_caller')
  if all ~= -1 and call('ZCARD', ends_key) >= all then
    -- include forget_ended
    while forget_ended(1000) == 1000 do end
    if call('ZCARD', ends_key) >= all then setting, value = 'max_leases', format('%.0f', all) end
  end
  if not setting and each ~= -1 and caller ~= '' then
    local key = prefix .. 'leasecaller:' .. caller
    call('ZREMRANGEBYSCORE', key, '-inf', at)
    if call('ZCARD', key) >= each then setting, value = 'max_leases_per_caller', format('%.0f', each) end
  end
end

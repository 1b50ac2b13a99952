-- full returns the setting that allows no more live leases, and its value.
local function full(caller)
  if string.sub(resource, 1, 15) == '__healthcheck__' then return nil end
  local all, each = config('max_leases'), config('max_leases_per_caller')
  if all ~= -1 and call('ZCARD', ends_key) >= all then
    -- include forget_ended
    while forget_ended(1000) == 1000 do end
    if call('ZCARD', ends_key) >= all then return 'max_leases', digits(all) end
  end
  if each ~= -1 and caller ~= '' then
    local key = prefix .. 'leasecaller:' .. caller
    call('ZREMRANGEBYSCORE', key, '-inf', digits(now))
    if call('ZCARD', key) >= each then return 'max_leases_per_caller', digits(each) end
  end
  return nil
end

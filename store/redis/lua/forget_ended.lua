-- forget_ended drops leases past their end from the counts, and returns how
-- many there were.
local function forget_ended(most)
  local due = call('ZRANGEBYSCORE', ends_key, '-inf', at, 'LIMIT', 0, most)
  for _, name in ipairs(due) do
    call('ZREM', ends_key, name)
    call('ZREM', names_key, name)
    if HISTORY then record_end(name) end
  end
  return #due
end

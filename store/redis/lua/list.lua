-- Reads a page of live leases, ordered by resource. ARGV: 5 and 6 the range of
-- names, 7 how many names. Names without a lease are dropped on the way.

-- include begin
-- include lease_key_of
local page = {}
local names = call('ZRANGEBYLEX', names_key, ARGV[5], ARGV[6], 'LIMIT', 0, ARGV[7])
for _, name in ipairs(names) do
  local key = lease_key_of(name)
  -- include load
  if row then
    local entry = {name, unpack(row)}
    if row.metadata then
      for _, text in ipairs(call('HGETALL', key)) do entry[#entry + 1] = text end
    end
    page[#page + 1] = entry
  else
    call('ZREM', names_key, name)
  end
end
return {micros, names[#names] or '', #names, page}

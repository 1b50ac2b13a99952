-- Reads a page of live leases, ordered by resource. ARGV: 7 and 8 the range of
-- names, 9 how many names. Names without a lease are dropped on the way.

local page = {}
local names = call('ZRANGEBYLEX', names_key, ARGV[7], ARGV[8], 'LIMIT', 0, ARGV[9])
for _, name in ipairs(names) do
  local row, list = load(lease_key_of(name))
  if row then
    page[#page + 1] = {name, list}
  else
    call('ZREM', names_key, name)
  end
end
return {digits(micros), names[#names] or '', #names, page}

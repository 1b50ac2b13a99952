-- Writes the metadata. Wants: first, the argument with which they begin.
if ARGV[first] then
  local fields = {'metadata', '1'}
  for i = first, #ARGV, 2 do
    fields[#fields + 1] = 'meta_' .. ARGV[i]
    fields[#fields + 1] = ARGV[i + 1]
  end
  call('HSET', lease_key, unpack(fields))
end

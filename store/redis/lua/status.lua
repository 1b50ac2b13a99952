-- Reads the lease. ARGV 7: the mark of an operation whose answer was lost, or ''.

local row = load(lease_key)
if ARGV[7] ~= '' and not (row and row.op == ARGV[7]) then
  local ended = as_table(redis.call('HGETALL', ended_key))
  if ended.op == ARGV[7] then return answer('', ended) end
  return answer('unknown', nil)
end
return answer('', row)

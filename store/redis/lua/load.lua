-- Sets row to the live lease at key, or nil. A lease is over at its end, even in the
-- millisecond before its key is: then ended is true. What is no lease is an error
-- before anything is written, which the program knows by its word. Wants: key.
local row, ended = redis.pcall('HMGET', key, FIELDS), false
if row['err'] then error('FOREIGN: the key of the lease is no hash') end
if not row.leaseId then
  row = nil
elseif row.endsAt ~= '-1' then
  local ends = tonumber(row.endsAt)
  if not ends then error('FOREIGN: the hash is no lease') end
  if now >= ends then row, ended = nil, true end
end

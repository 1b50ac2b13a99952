-- Moves an active lease to another holder. ARGV: 5 id, 6 holder, 7 token, 8 the
-- new id, 9 whether the store made it, 10 the new holder, 11 whether metadata
-- follows, 12… metadata.

-- include begin
-- include history
-- include unusable
local id, holder, token = ARGV[5], ARGV[6], ARGV[7]
local proposed, made, to = ARGV[8], ARGV[9] == '1', ARGV[10]
local key = lease_key
-- include load
if row and row.state == 'active' and row.leaseId == proposed and row.holder == to
  and row.former == id and row.handed == '1' then
  return answer('', row) -- it happened before
end
-- include match
if reason ~= '' then return answer(reason) end
if to == row.holder then return answer('invalid_argument', nil, 'to_holder') end
if row.state == 'breaking' then return answer('lease_breaking', row) end
if not made then
  reason = unusable(row, proposed)
  if reason then return answer(reason, nil, 'proposed_lease_id') end
  if proposed == id then return answer('lease_id_in_use') end -- the old holder would keep the secret
end
local last = row.token
-- include next_token
if together then
  if row.former then call('DEL', prefix .. 'leaseid:' .. row.former) end
  call('SET', prefix .. 'leaseid:' .. proposed, resource)
else
  call('HSET', lease_key, 'claim', mark)
end
local from = row.holder
call('HSET', lease_key, 'holder', to, 'token', next, 'op', mark, 'acquiredAt', at,
  'renewedAt', at, 'leaseId', proposed, 'former', id, 'handed', '1')
if ARGV[11] == '1' then
  for _, field in ipairs(call('HKEYS', lease_key)) do
    if string.sub(field, 1, 4) == 'meta' then call('HDEL', lease_key, field) end
  end
  local first = 12
  -- include metadata
end
-- include load
-- include save_end
local details = {from = from, ends_in_ms = row.endsAt == '-1' and '-1' or format('%.0f', row.endsAt - now)}
if HISTORY then record('transferred', resource, to, next, row.state, row.state, row.renewals, '', cjson.encode(details)) end
return answer('', row)

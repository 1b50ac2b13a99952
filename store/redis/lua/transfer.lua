-- Moves an active lease to another holder. ARGV: 5 id, 6 holder, 7 token, 8 the
-- new id, 9 whether the store made it, 10 the new holder, 11 whether metadata
-- follows, 12… metadata.

-- include begin
-- include history
-- include match
-- include unusable
-- include next_token
local id, proposed, made, to = ARGV[5], ARGV[8], ARGV[9] == '1', ARGV[10]
local row = load(lease_key)
if row and row.state == 'active' and row.leaseId == proposed and row.holder == to
  and row.former == id and row.handed == '1' then
  return answer('', row) -- it happened before
end
local reason = match(row, id, ARGV[6], ARGV[7])
if reason ~= '' then return answer(reason) end
if to == row.holder then return answer('invalid_argument', nil, 'to_holder') end
if row.state == 'breaking' then return answer('lease_breaking', row) end
if not made then
  reason = unusable(row, proposed)
  if reason then return answer(reason, nil, 'proposed_lease_id') end
  if proposed == id then return answer('lease_id_in_use') end -- the old holder would keep the secret
end
local token = next_token(row.token)
if not token then return answer('store_unavailable', nil, '', 'the token counter has reached its end at 2^53') end
if together then
  if row.former then call('DEL', prefix .. 'leaseid:' .. row.former) end
  call('SET', prefix .. 'leaseid:' .. proposed, resource)
else
  call('HSET', lease_key, 'claim', mark)
end
local from, at = row.holder, digits(now)
call('HSET', lease_key, 'holder', to, 'token', token, 'op', mark, 'acquiredAt', at,
  'renewedAt', at, 'leaseId', proposed, 'former', id, 'handed', '1')
if ARGV[11] == '1' then
  for _, field in ipairs(call('HKEYS', lease_key)) do
    if string.sub(field, 1, 4) == 'meta' then call('HDEL', lease_key, field) end
  end
  if ARGV[12] then call('HSET', lease_key, 'metadata', '1') end
  for i = 12, #ARGV, 2 do call('HSET', lease_key, 'meta_' .. ARGV[i], ARGV[i + 1]) end
end
row = load(lease_key)
-- include save_end
record('transferred', resource, to, token, row.state, row.state, row.renewals, '', {from = from})
return answer('', row)

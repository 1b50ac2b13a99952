-- Moves an active lease to another holder. ARGV: 7 id, 8 holder, 9 token, 10 the
-- new id, 11 whether the store made it, 12 the new holder, 13 whether metadata
-- follows, 14… metadata.

local id, proposed, made, to = ARGV[7], ARGV[10], ARGV[11] == '1', ARGV[12]

local function replace_metadata(row)
  for field in pairs(row) do
    if string.sub(field, 1, 5) == 'meta_' then
      redis.call('HDEL', lease_key, field)
      row[field] = nil
    end
  end
  for i = 14, #ARGV, 2 do
    row['meta_' .. ARGV[i]] = ARGV[i + 1]
    redis.call('HSET', lease_key, 'meta_' .. ARGV[i], ARGV[i + 1])
  end
end

local row = load(lease_key)
if row and row.state == 'active' and row.leaseId == proposed and row.holder == to
  and row.former == id and row.handed == '1' then
  return answer('', row) -- it happened before
end
local reason = match(row, id, ARGV[8], ARGV[9])
if reason ~= '' then return answer(reason, nil) end
if to == row.holder then return answer('invalid_argument', nil, 'to_holder') end
if row.state == 'breaking' then return answer('lease_breaking', row) end
if not made then
  reason = unusable(row, proposed)
  if reason then return answer(reason, nil, 'proposed_lease_id') end
  if proposed == id then return answer('lease_id_in_use', nil) end -- the old holder would keep the secret
end
local token = next_token(row.token)
if not token then return answer('store_unavailable', nil, '', 'the token counter has reached its end at 2^53') end
if together and row.former then redis.call('DEL', id_key_of(row.former)) end
local from = row.holder
row.holder, row.token, row.op = to, token, mark
row.acquiredAt, row.renewedAt = digits(now), digits(now)
row.leaseId, row.former, row.handed = proposed, id, '1'
redis.call('HSET', lease_key, 'holder', to, 'token', token, 'op', mark, 'acquiredAt', row.acquiredAt,
  'renewedAt', row.renewedAt, 'leaseId', proposed, 'former', id, 'handed', '1')
if ARGV[13] == '1' then replace_metadata(row) end
save_id(proposed)
if not together then redis.call('HSET', lease_key, 'claim', mark) end
save_end(row)
record_row('transferred', row, row.state, '', {from = from})
return answer('', row)

-- Ends a lease without its id, now or after a period. ARGV: 7 period in
-- milliseconds, 8 why.

local row = load(lease_key)
if not row then return answer('lease_not_found', nil) end
local ends, before = now + tonumber(ARGV[7]), tonumber(row.endsAt)
if before ~= -1 then ends = math.min(ends, before) end
if ends <= now then return finish(row, 'broken', ARGV[8]) end
if row.state == 'breaking' and ends == before then return answer('', row) end
local state = row.state
row.state, row.endsAt, row.op = 'breaking', digits(ends), mark
redis.call('HSET', lease_key, 'state', row.state, 'endsAt', row.endsAt, 'op', mark)
save_end(row)
record_row('breaking', row, state, ARGV[8])
wake()
return answer('', row)

-- Changes a setting. ARGV: 5 key, 6 value, 7 the default, 8 why.

-- include begin
-- include history
local before = call('HGET', settings_key, ARGV[5]) or ARGV[7]
call('HSET', settings_key, ARGV[5], ARGV[6])
local details = {key = ARGV[5], value = ARGV[6], before = before}
if HISTORY then record('configured', '', '', '0', 'available', 'available', '0', ARGV[8], cjson.encode(details)) end
return 1

-- Changes a setting. ARGV: 7 key, 8 value, 9 the default.

local before = call('HGET', settings_key, ARGV[7]) or ARGV[9]
call('HSET', settings_key, ARGV[7], ARGV[8])
record('configured', '', '', '0', 'available', 'available', '0', '', {key = ARGV[7], value = ARGV[8], before = before})
return 1

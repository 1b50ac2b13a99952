-- include valid

-- config returns a run-time setting. The program adds to every config('key') what
-- valid wants.
local stored
local function config(key, least, most, default)
  if not stored then stored = together and as_table(call('HGETALL', settings_key)) or cjson.decode(facts) end
  return valid(stored[key], least, most, default)
end

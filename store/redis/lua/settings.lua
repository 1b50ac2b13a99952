-- Reads the run-time settings. The program makes valid(settings.key, …) of every
-- config('key'), with the range and the default of that key.
-- include valid
-- include as_table
local settings
if together then
  settings = as_table(call('HGETALL', settings_key))
else
  settings = cjson.decode(facts)
end

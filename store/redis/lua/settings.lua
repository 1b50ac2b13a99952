-- Reads the run-time settings. The program makes valid(settings.key, …) of every
-- config('key'), with the range and the default of that key.
-- include valid
local settings
if together then
  settings = {}
  local stored = call('HGETALL', settings_key)
  for i = 1, #stored, 2 do settings[stored[i]] = stored[i + 1] end
else
  settings = cjson.decode(facts)
end

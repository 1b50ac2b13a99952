-- Drops the oldest history records that are past their retention or too many,
-- a batch at a time, and writes one record of that. Answers how many it dropped.

-- include begin
-- include settings
-- include history
-- include as_table
local keep, oldest = config('history_max_rows'), micros - config('history_retention_days') * DAY * 1000
local length = call('XLEN', history_key)
local excess, count, through = length - keep, 0, nil
if excess > 0 then excess = excess + 1 end -- the record of the purge counts, too
for _, entry in ipairs(call('XRANGE', history_key, '-', '+', 'COUNT', 5000)) do
  local fields = as_table(entry[2])
  if count >= excess and tonumber(fields.at) >= oldest then break end
  count, through = count + 1, entry[1]
end
-- Dropping only the record of the last purge would go on for ever.
if count == 0 or (count == 1 and as_table(call('XRANGE', history_key, through, through)[1][2]).event == 'purged') then
  return 0
end
call('XTRIM', history_key, 'MAXLEN', length - count)
local details = {count = format('%.0f', count), through = string.match(through, '^%d+')}
if HISTORY then record('purged', '', '', '0', 'available', 'available', '0', 'retention', cjson.encode(details)) end
return count

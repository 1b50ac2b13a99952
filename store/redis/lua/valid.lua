-- valid reads a setting. What stands in Redis, by whatever hand, counts only if it
-- may be so.
local function valid(text, least, most, default)
  if text == nil then return default end
  if default == true or default == false then
    if text == 'true' or text == 'false' then return text == 'true' end
    return default
  end
  local value = string.find(text, '^%-?%d+$') and tonumber(text)
  if value and value >= least and value <= most then return value end
  return default
end

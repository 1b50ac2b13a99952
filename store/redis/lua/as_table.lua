-- as_table reads a list of pairs.
local function as_table(list)
  local t = {}
  for i = 1, #list, 2 do t[list[i]] = list[i + 1] end
  return t
end

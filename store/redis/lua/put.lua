-- put changes a field of a lease, in its table and in its list.
local function put(row, list, field, value)
  local n = #list
  row[field], list[n + 1], list[n + 2] = value, field, value
end

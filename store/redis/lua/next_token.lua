-- next_token is above every earlier one of the resource: by the one kept, and
-- where that is gone, by the clock. Nil: there is none below 2^53.
local function next_token(last)
  local token = math.max(tonumber(last or 0) + 1, micros)
  if token >= 9007199254740992 then return nil end
  return digits(token)
end

-- next_token is above every earlier one of the resource: by the last, and where
-- that is gone, by the clock. Nil: there is none below 2^53.
local function next_token(last)
  last = tonumber(last or 0)
  if not last then error('FOREIGN: the token that was kept is no number') end
  local token = math.max(micros, last + 1)
  if token < 9007199254740992 then return digits(token) end
  return nil
end

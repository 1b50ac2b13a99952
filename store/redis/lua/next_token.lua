-- Sets next, a token above every earlier one of the resource: by the clock, and where
-- that is behind, by the last. Wants: last.
local next = micros
last = tonumber(last or 0)
if not last then error('FOREIGN: the token that was kept is no number') end
if last >= tonumber(micros) then next = format('%.0f', last + 1) end
if tonumber(next) >= 9007199254740992 then
  return answer('store_unavailable', nil, '', 'the token counter has reached its end at 2^53')
end

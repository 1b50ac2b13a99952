-- Writes the history.

local function is_health(name) return string.sub(name, 1, 15) == '__healthcheck__' end

-- ends_in is what the record of a live lease says of its end, as JSON.
local function ends_in(ends)
  return '{"ends_in_ms":"' .. (ends == '-1' and ends or format('%.0f', ends - now)) .. '"}'
end

-- record appends to the history. Numbers go on where no record is kept. The
-- details are JSON.
local function record(kind, name, holder, token, before, after, renewals, why, details)
  if is_health(name) then return end
  local seq = call('INCR', seq_key)
  -- include settings
  if kind ~= 'configured' and kind ~= 'purged' and not config('keep_history') then return end
  if kind == 'renewed' and not config('history_renewals') then return end
  call('XADD', history_key, format('%.0f', seq) .. '-0',
    'at', micros, 'event', kind, 'resource', name, 'holder', holder, 'token', token,
    'before', before, 'after', after, 'renewals', renewals, 'why', why or '',
    'details', details or '')
end

-- save_open keeps what a record of the lease's expiry needs: its own key is gone by
-- then.
local function save_open(state, renewals, token, holder)
  if is_health(resource) then return end
  call('HSET', open_key, resource, state .. ' ' .. renewals .. ' ' .. token .. ' ' .. holder)
end

-- drop_open drops it, as the lease ends by an operation.
local function drop_open() call('HDEL', open_key, resource) end

-- record_end records an expiry, or the end of a break, that time alone brought.
local function record_end(name)
  local entry = call('HGET', open_key, name)
  if not entry then return end
  call('HDEL', open_key, name)
  local state, renewals, token, holder = string.match(entry, '^(%a+) (%d+) (%d+) (.*)$')
  local kind = state == 'breaking' and 'broken' or 'expired'
  record(kind, name, holder, token, state, kind, renewals)
end

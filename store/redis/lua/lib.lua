-- What all scripts share. Before it stands the table `defaults` of the
-- run-time settings, made by the program.
--
-- The rules are those of package machine, once more in Lua, so that an operation
-- is one atomic step and one round trip. The conformance suite and a differential
-- test hold the two together.
--
-- KEYS 1-4 are of one resource and in one slot. KEYS 5-10 and keys made here are
-- given only where all keys may be used together (no Cluster, or a hash tag in
-- the prefix); else the program keeps the indexes by itself.

local lease_key, token_key, ended_key, waiting_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local names_key, ends_key, settings_key = KEYS[5], KEYS[6], KEYS[7]
local open_key, history_key, seq_key = KEYS[8], KEYS[9], KEYS[10]

local together = ARGV[1] == '1'
local resource, prefix, mark = ARGV[2], ARGV[3], ARGV[4]
local recording = ARGV[5] == '1'

local DAY, MINUTE = 86400000, 60000

-- Only the server's clock decides. It stands still while a script runs.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

-- Lua would write large numbers with an exponent.
local function digits(n) return string.format('%.0f', n) end

local function as_table(flat)
  local t = {}
  for i = 1, #flat, 2 do t[flat[i]] = flat[i + 1] end
  return t
end

local function as_list(t)
  local flat = {}
  for k, v in pairs(t) do
    flat[#flat + 1] = k
    flat[#flat + 1] = v
  end
  return flat
end

local escapes = {['{'] = '%7B', ['}'] = '%7D', ['%'] = '%25'}

local function lease_key_of(name) return prefix .. 'lease:' .. string.gsub(name, '[{}%%]', escapes) end
local function id_key_of(id) return prefix .. 'leaseid:' .. id end
local function caller_key_of(caller) return prefix .. 'leasecaller:' .. caller end

-- config returns a run-time setting.
local stored
local function config(key)
  if not stored then
    if together then
      stored = as_table(redis.call('HGETALL', settings_key))
    else
      stored = cjson.decode(ARGV[6])
    end
  end
  local value = stored[key]
  if value == nil then return defaults[key] end
  if value == 'true' then return true end
  if value == 'false' then return false end
  return tonumber(value)
end

-- apart returns what the program found out before, where the script cannot.
local function apart(key)
  if together then return nil end
  config('max_leases')
  return stored[key]
end

-- load returns the live lease, or nil. A lease is over at its end, even in the
-- millisecond before its key is.
local function load(key)
  local row = as_table(redis.call('HGETALL', key))
  if not row.leaseId then return nil end
  local ends = tonumber(row.endsAt)
  if ends ~= -1 and now >= ends then return nil end
  return row
end

-- answer is what every script returns: why not, where, the time and the lease.
local function answer(reason, row, field, problem, flag)
  return {reason, field or '', problem or '', digits(micros), flag or '', row and as_list(row) or {}}
end

local function is_health(name) return string.sub(name, 1, 15) == '__healthcheck__' end

-- record appends to the history. Numbers go on where no record is kept.
local function record(kind, name, holder, token, before, after, renewals, why, details)
  if not recording or is_health(name) then return end
  local seq = redis.call('INCR', seq_key)
  if kind ~= 'configured' and not config('keep_history') then return end
  if kind == 'renewed' and not config('history_renewals') then return end
  redis.call('XADD', history_key, digits(seq) .. '-0',
    'at', digits(micros), 'event', kind, 'resource', name, 'holder', holder, 'token', token,
    'before', before, 'after', after, 'renewals', renewals, 'why', why or '',
    'details', details and cjson.encode(details) or '')
end

local function record_row(kind, row, before, why, details)
  record(kind, resource, row.holder, row.token, before, row.state, row.renewals, why, details)
end

-- The open entry of a lease is what a record of its expiry needs: its own key is
-- gone by then.
local function save_open(row)
  if recording and not is_health(resource) then
    redis.call('HSET', open_key, resource, row.state .. ' ' .. row.renewals .. ' ' .. row.token .. ' ' .. row.holder)
  end
end

-- record_end records an expiry, or the end of a break, that time alone brought.
local function record_end(name)
  if not recording then return end
  local entry = redis.call('HGET', open_key, name)
  if not entry then return end
  redis.call('HDEL', open_key, name)
  local state, renewals, token, holder = string.match(entry, '^(%a+) (%d+) (%d+) (.*)$')
  local kind = state == 'breaking' and 'broken' or 'expired'
  record(kind, name, holder, token, state, kind, renewals)
end

-- forget_ended drops leases past their end from the counts, and returns how
-- many there were.
local function forget_ended(most)
  local due = redis.call('ZRANGEBYSCORE', ends_key, '-inf', digits(now), 'LIMIT', 0, most)
  for _, name in ipairs(due) do
    redis.call('ZREM', ends_key, name)
    redis.call('ZREM', names_key, name)
    record_end(name)
  end
  return #due
end

local function set_expiry(key, row)
  if row.endsAt == '-1' then
    redis.call('PERSIST', key)
  else
    redis.call('PEXPIREAT', key, row.endsAt)
  end
end

-- save_end makes the key, the token and the indexes last as long as the lease.
-- The token lasts a day longer.
local function save_end(row)
  set_expiry(lease_key, row)
  if row.endsAt == '-1' then
    redis.call('SET', token_key, row.token)
  else
    redis.call('SET', token_key, row.token, 'PX', digits(tonumber(row.endsAt) - now + DAY))
  end
  if not together then return end
  local score = row.endsAt == '-1' and '+inf' or row.endsAt
  redis.call('ZADD', ends_key, score, resource)
  set_expiry(id_key_of(row.leaseId), row)
  if row.former then set_expiry(id_key_of(row.former), row) end
  if row.caller then redis.call('ZADD', caller_key_of(row.caller), score, resource) end
  save_open(row)
end

-- wake tells other servers that the lease ends, or ends sooner, if anybody waits.
local function wake()
  if redis.call('EXISTS', waiting_key) == 1 then
    redis.call('PUBLISH', prefix .. 'leases:freed', resource)
  end
end

local function drop_indexes(row)
  if not together then return end
  redis.call('DEL', id_key_of(row.leaseId))
  if row.former then redis.call('DEL', id_key_of(row.former)) end
  redis.call('ZREM', names_key, resource)
  redis.call('ZREM', ends_key, resource)
  if row.caller then redis.call('ZREM', caller_key_of(row.caller), resource) end
  if recording then redis.call('HDEL', open_key, resource) end
end

-- finish ends a live lease. What is left of it, for a minute, shows a caller who
-- lost the answer that this operation did it.
local function finish(row, state, why)
  local before = row.state
  row.state, row.op, row.endsAt = state, mark, digits(now)
  redis.call('RENAME', lease_key, ended_key)
  redis.call('HSET', ended_key, 'state', state, 'op', mark, 'endsAt', row.endsAt)
  redis.call('PEXPIRE', ended_key, MINUTE)
  redis.call('SET', token_key, row.token, 'PX', DAY)
  drop_indexes(row)
  record_row(state, row, before, why)
  wake()
  return answer('', row)
end

-- match compares what the caller shows with the lease.
local function match(row, id, holder, token)
  if not row then return 'lease_not_found' end
  if row.former == id and row.handed == '1' then return 'lease_released' end
  if row.leaseId ~= id then return 'lease_not_found' end
  if holder ~= '' and holder ~= row.holder then return 'holder_mismatch' end
  if token ~= '0' and token ~= row.token then return 'token_mismatch' end
  return ''
end

-- extend restarts the ttl from now.
local function extend(row, ttl, flag)
  local limit, renewals = tonumber(row.maxRenewals), tonumber(row.renewals)
  if limit ~= -1 and renewals >= limit then return answer('max_renewals_exceeded', row) end
  local before = tonumber(row.endsAt)
  if ttl ~= 0 then row.ttlMs = digits(ttl) end
  ttl = tonumber(row.ttlMs)
  row.endsAt = ttl == -1 and '-1' or digits(now + ttl)
  row.renewedAt, row.renewals, row.op = digits(now), digits(renewals + 1), mark
  redis.call('HSET', lease_key, 'ttlMs', row.ttlMs, 'endsAt', row.endsAt,
    'renewedAt', row.renewedAt, 'renewals', row.renewals, 'op', mark)
  save_end(row)
  record_row('renewed', row, row.state)
  if ttl ~= -1 and (before == -1 or now + ttl < before) then wake() end
  return answer('', row, nil, nil, flag)
end

-- unusable says why a proposed id cannot be that of a new lease.
local function unusable(row, id)
  if row and row.former == id then return 'lease_released' end
  if not together then return apart('unusable') end -- the program has claimed the id
  local name = redis.call('GET', id_key_of(id))
  if not name or name == resource then return nil end
  local other = load(lease_key_of(name))
  if not other then return nil end
  if other.leaseId == id then return 'lease_id_in_use' end
  if other.former == id then return 'lease_released' end
  return nil
end

-- next_token is above every earlier one of the resource: by the one kept, and
-- where that is gone, by the clock. Nil: there is none below 2^53.
local function next_token(current)
  local last = tonumber(current or redis.call('GET', token_key) or 0)
  local token = math.max(last + 1, micros)
  if token >= 9007199254740992 then return nil end
  return digits(token)
end

-- save_id lets the lease be found by its id. It gets the lease's end later.
local function save_id(id)
  if together then redis.call('SET', id_key_of(id), resource) end
end

local function too_long(ttl)
  local most = config('max_ttl_seconds') * 1000
  if ttl > most then return digits(most) end
end

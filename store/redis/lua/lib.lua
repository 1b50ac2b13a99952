-- What the scripts share. A script gets only the functions of this file that it
-- uses, because making a function costs time in every run: a function and its
-- comment are a block, and blocks are separated by empty lines. The program also
-- adds the default to every config('key'), and leaves out what is for the history
-- where none is kept: each such statement is one line.
--
-- The rules are those of package machine, once more in Lua, so that an operation
-- is one atomic step and one round trip. The conformance suite and a differential
-- test hold the two together.
--
-- KEYS 1-4 are of one resource and in one slot. KEYS 5-10 and keys made here are
-- given only where all keys may be used together (no Cluster, or a hash tag in
-- the prefix); else the program keeps the indexes by itself.
--
-- A lease is two things here: a table of its fields, to be read, and the list that
-- HGETALL gave, to be answered. What changes is appended to the list: of two
-- values of a field the later one counts.

local lease_key, token_key, ended_key, waiting_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local names_key, ends_key, settings_key = KEYS[5], KEYS[6], KEYS[7]
local open_key, history_key, seq_key = KEYS[8], KEYS[9], KEYS[10]
local together, resource, prefix, mark = ARGV[1] == '1', ARGV[2], ARGV[3], ARGV[4]
local recording = ARGV[5] == '1'
local call, format = redis.call, string.format
local DAY, MINUTE = 86400000, 60000

-- Only the server's clock decides. It stands still while a script runs.
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local stored

-- digits writes a number: Lua would write large ones with an exponent.
local function digits(n) return format('%.0f', n) end

-- as_table reads a list of pairs.
local function as_table(list)
  local t = {}
  for i = 1, #list, 2 do t[list[i]] = list[i + 1] end
  return t
end

-- put changes a field of a lease, in its table and in its list.
local function put(row, list, field, value)
  local n = #list
  row[field], list[n + 1], list[n + 2] = value, field, value
end

-- lease_key_of escapes what would be a hash tag.
local function lease_key_of(name)
  return prefix .. 'lease:' .. string.gsub(name, '[{}%%]', {['{'] = '%7B', ['}'] = '%7D', ['%'] = '%25'})
end

local function id_key_of(id) return prefix .. 'leaseid:' .. id end

local function caller_key_of(caller) return prefix .. 'leasecaller:' .. caller end

-- config returns a run-time setting.
local function config(key, default)
  if not stored then
    if together then
      stored = as_table(call('HGETALL', settings_key))
    else
      stored = cjson.decode(ARGV[6])
    end
  end
  local value = stored[key]
  if value == nil then return default end
  if value == 'true' then return true end
  if value == 'false' then return false end
  return tonumber(value)
end

-- apart returns what the program found out before, where the script cannot.
local function apart(key)
  if together then return nil end
  config('')
  return stored[key]
end

-- load returns the live lease and its list, or nil. A lease is over at its end,
-- even in the millisecond before its key is: then the third result is true.
local function load(key)
  local list = call('HGETALL', key)
  if #list == 0 then return nil end
  local row = as_table(list)
  if row.endsAt ~= '-1' and now >= tonumber(row.endsAt) then return nil, nil, true end
  return row, list
end

-- answer is what every script returns: why not, where, the time and the lease.
local function answer(reason, list, field, problem, flag)
  return {reason, field or '', problem or '', digits(micros), flag or '', list or {}}
end

local function is_health(name) return string.sub(name, 1, 15) == '__healthcheck__' end

-- record appends to the history. Numbers go on where no record is kept.
local function record(kind, name, holder, token, before, after, renewals, why, details)
  if not recording or is_health(name) then return end
  local seq = call('INCR', seq_key)
  if kind ~= 'configured' and not config('keep_history') then return end
  if kind == 'renewed' and not config('history_renewals') then return end
  call('XADD', history_key, digits(seq) .. '-0',
    'at', digits(micros), 'event', kind, 'resource', name, 'holder', holder, 'token', token,
    'before', before, 'after', after, 'renewals', renewals, 'why', why or '',
    'details', details and cjson.encode(details) or '')
end

-- save_open keeps what a record of the lease's expiry needs: its own key is gone by
-- then.
local function save_open(state, renewals, token, holder)
  if recording and not is_health(resource) then
    call('HSET', open_key, resource, state .. ' ' .. renewals .. ' ' .. token .. ' ' .. holder)
  end
end

-- record_end records an expiry, or the end of a break, that time alone brought.
local function record_end(name)
  if not recording then return end
  local entry = call('HGET', open_key, name)
  if not entry then return end
  call('HDEL', open_key, name)
  local state, renewals, token, holder = string.match(entry, '^(%a+) (%d+) (%d+) (.*)$')
  local kind = state == 'breaking' and 'broken' or 'expired'
  record(kind, name, holder, token, state, kind, renewals)
end

-- forget_ended drops leases past their end from the counts, and returns how
-- many there were.
local function forget_ended(most)
  local due = call('ZRANGEBYSCORE', ends_key, '-inf', digits(now), 'LIMIT', 0, most)
  for _, name in ipairs(due) do
    call('ZREM', ends_key, name)
    call('ZREM', names_key, name)
    record_end(name)
  end
  return #due
end

-- set_expiry lets a key last as long as the lease.
local function set_expiry(key, ends)
  if ends == '-1' then
    call('PERSIST', key)
  else
    call('PEXPIREAT', key, ends)
  end
end

-- save_token keeps the token for a day longer than the lease.
local function save_token(token, ends)
  if ends == '-1' then
    call('SET', token_key, token)
  else
    call('SET', token_key, token, 'PX', digits(ends - now + DAY))
  end
end

-- save_end makes the key, the token and the indexes last as long as the lease.
local function save_end(row)
  local ends = row.endsAt
  set_expiry(lease_key, ends)
  save_token(row.token, ends)
  if not together then return end
  local score = ends == '-1' and '+inf' or ends
  call('ZADD', ends_key, score, resource)
  set_expiry(id_key_of(row.leaseId), ends)
  if row.former then set_expiry(id_key_of(row.former), ends) end
  if row.caller then call('ZADD', caller_key_of(row.caller), score, resource) end
  save_open(row.state, row.renewals, row.token, row.holder)
end

-- wake tells other servers that the lease ends, or ends sooner, if anybody waits.
local function wake()
  if call('EXISTS', waiting_key) == 1 then
    call('PUBLISH', prefix .. 'leases:freed', resource)
  end
end

-- finish ends a live lease. What is left of it, for a minute, shows a caller who
-- lost the answer that this operation did it.
local function finish(row, list, state, why)
  local before, endless = row.state, row.endsAt == '-1'
  if endless then call('SET', token_key, row.token, 'PX', DAY) end
  if together then
    call('DEL', lease_key, id_key_of(row.leaseId))
    if row.former then call('DEL', id_key_of(row.former)) end
    call('ZREM', names_key, resource)
    call('ZREM', ends_key, resource)
    if row.caller then call('ZREM', caller_key_of(row.caller), resource) end
    if recording then call('HDEL', open_key, resource) end
  else
    put(row, list, 'endedFrom', row.noted or row.endsAt)
    call('DEL', lease_key)
  end
  put(row, list, 'state', state)
  put(row, list, 'endsAt', digits(now))
  call('SET', ended_key, mark .. cmsgpack.pack(list), 'PX', MINUTE)
  record(state, resource, row.holder, row.token, before, state, row.renewals, why)
  wake()
  return answer('', list)
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
local function extend(row, list, ttl, flag)
  local limit, renewals = tonumber(row.maxRenewals), tonumber(row.renewals)
  if limit ~= -1 and renewals >= limit then return answer('max_renewals_exceeded', list) end
  local before = tonumber(row.endsAt)
  if ttl == 0 then ttl = tonumber(row.ttlMs) end
  put(row, list, 'ttlMs', digits(ttl))
  put(row, list, 'endsAt', ttl == -1 and '-1' or digits(now + ttl))
  put(row, list, 'renewedAt', digits(now))
  put(row, list, 'renewals', digits(renewals + 1))
  call('HSET', lease_key, 'ttlMs', row.ttlMs, 'endsAt', row.endsAt,
    'renewedAt', row.renewedAt, 'renewals', row.renewals, 'op', mark)
  if not together then call('HDEL', lease_key, 'noted') end -- the program notes the new end
  save_end(row)
  record('renewed', resource, row.holder, row.token, row.state, row.state, row.renewals)
  if ttl ~= -1 and (before == -1 or now + ttl < before) then wake() end
  return answer('', list, nil, nil, flag)
end

-- unusable says why a proposed id cannot be that of a new lease.
local function unusable(row, id)
  if row and row.former == id then return 'lease_released' end
  if not together then return apart('unusable') end -- the program has claimed the id
  local name = call('GET', id_key_of(id))
  if not name or name == resource then return nil end
  local other = load(lease_key_of(name))
  if not other then return nil end
  if other.leaseId == id then return 'lease_id_in_use' end
  if other.former == id then return 'lease_released' end
  return nil
end

-- next_token is above every earlier one of the resource: by the one kept, and
-- where that is gone, by the clock. Nil: there is none below 2^53.
local function next_token(last)
  local token = math.max(tonumber(last or 0) + 1, micros)
  if token >= 9007199254740992 then return nil end
  return digits(token)
end

-- too_long returns the longest ttl, if this is longer.
local function too_long(ttl)
  local most = config('max_ttl_seconds') * 1000
  if ttl > most then return digits(most) end
end

-- full returns the setting that allows no more live leases, and its value.
local function full(caller)
  if is_health(resource) then return nil end
  if not together then return apart('full'), apart('full_at') end
  local all, each = config('max_leases'), config('max_leases_per_caller')
  if all ~= -1 and call('ZCARD', ends_key) >= all then
    while forget_ended(1000) == 1000 do end
    if call('ZCARD', ends_key) >= all then return 'max_leases', digits(all) end
  end
  if each ~= -1 and caller ~= '' then
    local key = caller_key_of(caller)
    call('ZREMRANGEBYSCORE', key, '-inf', digits(now))
    if call('ZCARD', key) >= each then return 'max_leases_per_caller', digits(each) end
  end
  return nil
end

-- Begins every script that works on a lease: its keys and arguments, the time, how
-- a lease is read and what is answered.
--
-- The rules are those of package machine, once more in Lua, so that an operation
-- is one atomic step and one round trip. The conformance suite and a differential
-- test hold the two together.
--
-- KEYS 1-3 are of one resource and in one slot. KEYS 4-9 and keys made here are
-- given only where all keys may be used together (no Cluster, or a hash tag in
-- the prefix); else the program keeps the indexes by itself.
--
-- A lease is two things here: a table of its fields, to be read, and the list that
-- HGETALL gave, to be answered. What changes is appended to the list: of two
-- values of a field the later one counts.
--
-- Making a function costs time in every run. So a function that is seldom needed
-- is included only where it is needed, inside the branch.

local lease_key, token_key, ended_key = KEYS[1], KEYS[2], KEYS[3]
local names_key, ends_key, settings_key = KEYS[4], KEYS[5], KEYS[6]
local open_key, history_key, seq_key = KEYS[7], KEYS[8], KEYS[9]
local resource, prefix, mark, facts = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local together = names_key ~= nil
local call, format = redis.call, string.format
local DAY = 86400000

-- Only the server's clock decides. It stands still while a script runs.
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

-- digits writes a number: Lua would write large ones with an exponent.
local function digits(n) return format('%.0f', n) end

-- as_table reads a list of pairs.
local function as_table(list)
  local t = {}
  for i = 1, #list, 2 do t[list[i]] = list[i + 1] end
  return t
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

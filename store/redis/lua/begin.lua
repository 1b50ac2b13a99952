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
-- A lease is a list of its fields in a fixed order: row.holder is written here, and
-- the program makes row[2] of it. A field that is not there is false.
--
-- A function, and each variable that it uses, costs time in every run. So most of
-- what is included is statements, which say what they want to be set before, and
-- what is seldom needed is included inside the branch that needs it.

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

-- load returns the live lease, or nil. A lease is over at its end, even in the
-- millisecond before its key is: then the second result is true. What is no lease
-- is an error before anything is written, which the program knows by its word.
local function load(key)
  local row = redis.pcall('HMGET', key, FIELDS)
  if row['err'] then error('FOREIGN: the key of the lease is no hash') end
  if not row.leaseId then return nil end
  if row.endsAt == '-1' then return row end
  local ends = tonumber(row.endsAt)
  if not ends then error('FOREIGN: the hash is no lease') end
  if now >= ends then return nil, true end
  return row
end

-- answer is what every script returns: why not, where, the time, the lease, and
-- all its fields if it has metadata.
local function answer(reason, row, field, problem, flag)
  local all = row and row.metadata and call('HGETALL', flag == 'ended' and ended_key or lease_key)
  return {reason, field or '', problem or '', digits(micros), flag or '', row or {}, all or {}}
end

-- Begins every script that works on a lease: its keys and arguments, the time, and
-- what is answered.
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
-- the program makes row[2] of it. A field that is not there is false. HISTORY is
-- true or false by the program, too.
--
-- A function, and each variable that it uses, costs time in every run, and so does
-- a command. So most of what is included is statements, which say what they want to
-- be set before, and what is seldom needed is included inside the branch that needs
-- it.

local lease_key, token_key, ended_key = KEYS[1], KEYS[2], KEYS[3]
local names_key, ends_key, settings_key = KEYS[4], KEYS[5], KEYS[6]
local open_key, history_key, seq_key = KEYS[7], KEYS[8], KEYS[9]
local resource, prefix, mark, facts = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local together = names_key ~= nil
local call, format = redis.call, string.format
local DAY = 86400000

-- Only the server's clock decides. It stands still while a script runs. It is here
-- as text: micros, and at in milliseconds, which is the number now. To write a
-- number is slow, and only format('%.0f') is exact for all.
local time = call('TIME')
local micros = time[1] .. format('%06d', time[2])
local at = string.sub(micros, 1, -4)
local now = tonumber(at)

-- answer is what every script returns: why not, the time, which field is wrong (or
-- what happened), more about it, the fields of the lease up to the last that is
-- there, and if it has metadata, all its fields and then all of them by name.
local function answer(reason, row, field, problem)
  if not row then return {reason, time[1], time[2], field or '', problem or ''} end
  local last = #row
  while not (row[last] or row.metadata) do last = last - 1 end
  local list = {reason, time[1], time[2], field or '', '', unpack(row, 1, last)}
  if row.metadata then
    for _, text in ipairs(call('HGETALL', lease_key)) do list[#list + 1] = text end
  end
  return list
end

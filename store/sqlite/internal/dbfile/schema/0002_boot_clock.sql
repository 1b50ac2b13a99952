-- The machine's clocks when lease_counters.clock was saved: they tell the next
-- process how long the engine was down. No boot id, no answer: in a backup, in a
-- file of an older program, without a boot clock.
ALTER TABLE lease_counters ADD COLUMN boot_id        TEXT;
ALTER TABLE lease_counters ADD COLUMN time_namespace TEXT;
ALTER TABLE lease_counters ADD COLUMN boot_clock     INTEGER; -- nanoseconds since that boot
ALTER TABLE lease_counters ADD COLUMN wall_clock     INTEGER; -- Unix nanoseconds

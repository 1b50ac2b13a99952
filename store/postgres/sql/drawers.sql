-- Transactions under way that have drawn a number: nextval keeps a lock on the sequence
-- until its transaction ends.
SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
WHERE locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND relation = '{s}.lease_records'::regclass AND mode = 'RowExclusiveLock'

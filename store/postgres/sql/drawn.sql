-- $1 up to where the history is decided. The last number drawn and, where that is more,
-- a transaction id drawn after it was read: whoever drew such a number had its id before.
-- (pg_snapshot_xmax is no such id: it is one past the last transaction that ended, and
-- others under way may be beyond it.)
WITH d AS MATERIALIZED (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM {s}.lease_records)
SELECT d.seq, CASE WHEN d.seq > $1 THEN pg_current_xact_id()::text::bigint ELSE 0 END FROM d

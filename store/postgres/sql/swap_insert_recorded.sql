-- $1 to $17 the row, with $5 whether its token is drawn; $18 until when it may be written,
-- $19 the channel for those who wait (null: nobody is told).
-- $20 the version that the row must have, $21 that of the control, $22 from when it may
-- be written, $23 a proposed id. Writes nothing where one of them does not hold; the time
-- is looked at when the row is locked and written, and fails the statement. In another
-- isolation what it sees would be older than its lock of the table, and the mark of a move.
-- $24 to $28 the record: time, kind, state before, reason, details. It is numbered when the
-- row is written, so a number is drawn only by a transaction that has its id.
WITH w AS (
INSERT INTO {s}.leases AS w (resource, holder, id, token, state, ttl_ms, ends, acquired, renewed, renewals, max_renewals,
  metadata, former, handed, caller, version)
SELECT $1::text, $2, $3, CASE WHEN $5::boolean THEN nextval('{s}.lease_tokens') ELSE $4 END, $6, $7, $8, $9, $10, $11, $12, $13,
  $14, $15, $16, $17
WHERE $20::bigint = 0
  AND (SELECT c.version FROM {s}.lease_control c) = $21
  AND current_setting('transaction_isolation') = 'read committed'
  AND NOT EXISTS (SELECT 1 FROM {s}.leases f WHERE f.former = $23)
ON CONFLICT (resource) DO NOTHING
RETURNING w.resource, w.holder, w.token, w.state, w.renewals, 1 / (coalesce(clock_timestamp() < $18::timestamptz, true) AND
  clock_timestamp() >= $22::timestamptz)::int AS in_time, CASE WHEN $19::text IS NOT NULL AND w.waiting > clock_timestamp() THEN
  pg_notify($19::text, w.resource)::text END AS notified
)
INSERT INTO {s}.lease_history (seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details)
SELECT nextval('{s}.lease_records'), $24, $25, w.resource, w.holder, w.token, $26, w.state, w.renewals, $27, $28
FROM w
RETURNING token, clock_timestamp()

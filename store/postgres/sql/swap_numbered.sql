-- $1 to $17 the row, with $5 whether its token is drawn; $18 until when it may be written,
-- $19 the channel for those who wait (null: nobody is told).
-- $20 the version that the row must have, $21 that of the control, $22 from when it may
-- be written, $23 a proposed id. Writes nothing where one of them does not hold; the time
-- is looked at when the row is locked and written, and fails the statement. In another
-- isolation what it sees would be older than its lock of the table, and the mark of a move.
-- Uses up the number of a record that is not kept.
UPDATE {s}.leases w SET holder = $2, id = $3, token = CASE WHEN $5::boolean THEN nextval('{s}.lease_tokens') ELSE $4 END, state =
  $6, ttl_ms = $7, ends = $8, acquired = $9, renewed = $10, renewals = $11, max_renewals = $12, metadata = $13, former = $14,
  handed = $15, caller = $16, version = $17
WHERE w.resource = $1 AND w.version = $20
  AND (SELECT c.version FROM {s}.lease_control c) = $21
  AND current_setting('transaction_isolation') = 'read committed'
  AND NOT EXISTS (SELECT 1 FROM {s}.leases f WHERE f.former = $23)
RETURNING w.token, clock_timestamp(), 1 / (coalesce(clock_timestamp() < $18::timestamptz, true) AND clock_timestamp() >=
  $22::timestamptz)::int, CASE WHEN $19::text IS NOT NULL AND w.waiting > clock_timestamp() THEN pg_notify($19::text,
  w.resource)::text END, nextval('{s}.lease_records')

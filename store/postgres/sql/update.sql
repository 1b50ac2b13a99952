-- $1 to $17 the row, with $5 whether its token is drawn; $18 until when it may be written,
-- $19 the channel for those who wait (null: nobody is told).
-- Replaces a row that is locked.
UPDATE {s}.leases w SET holder = $2, id = $3, token = CASE WHEN $5::boolean THEN nextval('{s}.lease_tokens') ELSE $4 END, state =
  $6, ttl_ms = $7, ends = $8, acquired = $9, renewed = $10, renewals = $11, max_renewals = $12, metadata = $13, former = $14,
  handed = $15, caller = $16, version = $17
WHERE w.resource = $1
RETURNING w.token, 1 / (coalesce(clock_timestamp() < $18::timestamptz, true))::int, CASE WHEN $19::text IS NOT NULL AND w.waiting
  > clock_timestamp() THEN pg_notify($19::text, w.resource)::text END

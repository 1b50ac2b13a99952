-- $1 to $17 the row, with $5 whether its token is drawn; $18 until when it may be written,
-- $19 the channel for those who wait (null: nobody is told).
-- Writes nothing if there is a row.
INSERT INTO {s}.leases AS w (resource, holder, id, token, state, ttl_ms, ends, acquired, renewed, renewals, max_renewals,
  metadata, former, handed, caller, version)
VALUES ($1, $2, $3, CASE WHEN $5::boolean THEN nextval('{s}.lease_tokens') ELSE $4 END, $6, $7, $8, $9, $10, $11, $12, $13, $14,
  $15, $16, $17)
ON CONFLICT (resource) DO NOTHING
RETURNING w.token, 1 / (coalesce(clock_timestamp() < $18::timestamptz, true))::int, CASE WHEN $19::text IS NOT NULL AND w.waiting
  > clock_timestamp() THEN pg_notify($19::text, w.resource)::text END

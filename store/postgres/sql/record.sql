-- $1 to $10 the record, $11 whether it is kept: if not, it only uses up its number.
-- The number is drawn only when the transaction has its id, which drawn.sql relies on.
WITH n AS MATERIALIZED (
  SELECT CASE WHEN pg_current_xact_id() IS NOT NULL THEN nextval('{s}.lease_records') END AS seq
),
kept AS (
  INSERT INTO {s}.lease_history (seq, at, kind, resource, holder, token, state_before, state_after, renewals, why, details)
  SELECT n.seq, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM n WHERE $11::boolean
)
SELECT seq FROM n

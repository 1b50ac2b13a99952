SELECT
  count(*) FILTER (WHERE state IN (1, 2) AND ends > clock_timestamp()),
  count(*) FILTER (WHERE NOT (state IN (1, 2) AND ends > clock_timestamp())),
  (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {s}.lease_tokens),
  (SELECT is_called FROM {s}.lease_records)
FROM {s}.leases

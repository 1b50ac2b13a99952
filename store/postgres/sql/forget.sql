-- $1 age, $2 how many ended leases to remember, $3 how many rows at most.
WITH ended AS (
  SELECT resource, row_number() OVER (ORDER BY ends DESC) AS rank, ends, version FROM {s}.leases WHERE state NOT IN (1, 2)
), old AS (
  SELECT l.resource FROM {s}.leases l JOIN ended e ON e.resource = l.resource
  WHERE l.version = e.version AND (e.ends < clock_timestamp() - $1::interval OR e.rank > $2) AND l.state NOT IN (1, 2)
  LIMIT $3 FOR UPDATE OF l SKIP LOCKED
)
DELETE FROM {s}.leases l USING old WHERE l.resource = old.resource AND l.state NOT IN (1, 2)

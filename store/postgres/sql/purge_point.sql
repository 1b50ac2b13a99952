-- $1 retention, $2 how many to keep, $3 the last number that is decided.
WITH c AS (SELECT purged FROM {s}.lease_control),
young AS (
  SELECT seq FROM {s}.lease_history WHERE seq > (SELECT purged FROM c) AND at >= clock_timestamp() - $1::interval ORDER BY seq LIMIT 1
), many AS (
  SELECT seq FROM {s}.lease_history WHERE seq > (SELECT purged FROM c) AND seq <= $3 ORDER BY seq DESC OFFSET $2 LIMIT 1
), point AS (
  SELECT least($3, greatest(coalesce((SELECT seq - 1 FROM young), $3), coalesce((SELECT seq FROM many), 0))) AS seq
)
SELECT point.seq, (SELECT count(*) FROM {s}.lease_history h WHERE h.seq > (SELECT purged FROM c) AND h.seq <= point.seq) FROM point

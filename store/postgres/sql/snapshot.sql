-- All transactions before this one have ended, if it is no more than an id that has.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint

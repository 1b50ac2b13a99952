-- Whose live leases a lease is counted among, for max_leases_per_caller: the
-- name of a token, not a secret.
ALTER TABLE leases ADD COLUMN caller TEXT;

-- Remembers the token unless a higher one has been seen: then no row changes.
-- Either way the row stays locked until the transaction ends.
INSERT INTO lease_fence (resource, token) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token
WHERE excluded.token >= lease_fence.token

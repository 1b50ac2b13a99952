-- The highest fencing token seen for each resource. Put this table into the
-- database that holds the guarded data: the check and the write must be one
-- transaction.
CREATE TABLE IF NOT EXISTS lease_fence (
    resource TEXT   NOT NULL PRIMARY KEY,
    token    BIGINT NOT NULL
);

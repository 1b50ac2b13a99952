-- One row for each resource that is leased, or whose last lease is remembered.
-- Ordered by the bytes of the resource's name, which is how the engine loads it.
CREATE TABLE leases (
  resource     TEXT    NOT NULL PRIMARY KEY,
  holder       TEXT    NOT NULL,
  id           BLOB    NOT NULL, -- 16 bytes; a secret, so the file is readable by its owner only
  token        INTEGER NOT NULL,
  state        INTEGER NOT NULL, -- 0 available, 1 active, 2 breaking, 3 released, 4 expired, 5 broken
  ttl          INTEGER NOT NULL, -- nanoseconds; -1 is infinite
  ends         INTEGER NOT NULL, -- nanoseconds on the engine's clock, see lease_counters.clock
  acquired     INTEGER NOT NULL, -- Unix milliseconds
  renewed      INTEGER NOT NULL, -- Unix milliseconds
  renewals     INTEGER NOT NULL,
  max_renewals INTEGER NOT NULL, -- -1 is unlimited
  metadata     TEXT,             -- a JSON object of strings
  former       BLOB,             -- the id before the last change or transfer
  handed       INTEGER NOT NULL,
  scoped       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The history has no index besides its numbers, on purpose. Indexes on resource
-- and holder were measured: with 64 operations in a commit they take the rate
-- from 131,000 operations a second to 32,000, since every record then dirties
-- two more pages somewhere in the file. What they would save is a scan of the
-- retained million, newest first, which ends at the page's limit and takes
-- 0.15 s where nothing matches, off the path of the commits.
CREATE TABLE lease_history (
  seq          INTEGER PRIMARY KEY,
  at           INTEGER NOT NULL, -- Unix milliseconds
  kind         TEXT    NOT NULL,
  resource     TEXT    NOT NULL,
  holder       TEXT    NOT NULL,
  token        INTEGER NOT NULL,
  state_before INTEGER NOT NULL, -- as in leases.state
  state_after  INTEGER NOT NULL,
  renewals     INTEGER NOT NULL,
  why          TEXT,
  details      TEXT              -- a JSON object of strings
) STRICT;

-- Run-time settings that were ever set.
CREATE TABLE lease_configs (
  key   TEXT    NOT NULL PRIMARY KEY,
  type  TEXT    NOT NULL CHECK (type IN ('integer', 'boolean')),
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The one row of counters, written with every commit.
CREATE TABLE lease_counters (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  batch  INTEGER NOT NULL, -- number of the last commit
  clock  INTEGER NOT NULL, -- the engine's clock, in nanoseconds, at that commit
  token  INTEGER NOT NULL, -- the last fencing token given out
  seq    INTEGER NOT NULL, -- the last history record's number
  purged INTEGER NOT NULL  -- records up to here are hidden, and deleted by and by
) STRICT;

INSERT INTO lease_counters (one, batch, clock, token, seq, purged) VALUES (1, 0, 0, 0, 0, 0);

-- What was done to this file's schema, by whom, and how it went.
CREATE TABLE migrations (
  module     TEXT    NOT NULL, -- 'leasehold', or the name of a module
  version    INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  applied_at INTEGER NOT NULL, -- Unix milliseconds
  status     TEXT    NOT NULL CHECK (status IN ('applied', 'failed')),
  error      TEXT,
  PRIMARY KEY (module, version)
) STRICT, WITHOUT ROWID;

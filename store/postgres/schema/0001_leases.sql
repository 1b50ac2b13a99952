-- One row for each resource that is leased, or whose last lease is remembered.
-- Ordered by the bytes of the resource's name.
--
-- Few indexes, on purpose: a release and a renewal change no indexed column, so they
-- are heap-only updates. What looks for holders or ends scans the table, which only
-- operators and the sweep do.
CREATE TABLE {s}.leases (
  resource     text COLLATE "C" NOT NULL PRIMARY KEY,
  holder       text        NOT NULL,
  id           uuid        NOT NULL, -- a secret: who reads this table can act for every holder
  token        bigint      NOT NULL,
  state        smallint    NOT NULL, -- 0 available, 1 active, 2 breaking, 3 released, 4 expired, 5 broken
  ttl_ms       bigint      NOT NULL, -- -1 is infinite
  ends         timestamptz NOT NULL, -- by this server's clock_timestamp()
  acquired     timestamptz NOT NULL,
  renewed      timestamptz NOT NULL,
  renewals     integer     NOT NULL,
  max_renewals integer     NOT NULL, -- -1 is unlimited
  metadata     text,                 -- a JSON object of strings; not jsonb, which has no \u0000
  former       uuid,                 -- the id before the last change or transfer
  handed       boolean     NOT NULL,
  caller       text,                 -- whose live leases it counts among
  version      bigint      NOT NULL, -- of the last write, at random
  waiting      timestamptz NOT NULL DEFAULT '-infinity' -- until when somebody waits: a release notifies
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX leases_id ON {s}.leases (id);
CREATE INDEX leases_former ON {s}.leases (former) WHERE former IS NOT NULL;
CREATE INDEX leases_caller ON {s}.leases (caller) WHERE caller IS NOT NULL;

-- The fencing tokens, and the numbers of the history. Both are drawn one at a time,
-- after the row is locked.
CREATE SEQUENCE {s}.lease_tokens AS bigint MAXVALUE 9007199254740991 CACHE 1;
CREATE SEQUENCE {s}.lease_records AS bigint CACHE 1;

CREATE TABLE {s}.lease_history (
  seq          bigint      NOT NULL PRIMARY KEY,
  at           timestamptz NOT NULL,
  kind         text        NOT NULL,
  resource     text COLLATE "C" NOT NULL,
  holder       text        NOT NULL,
  token        bigint      NOT NULL,
  state_before smallint    NOT NULL, -- as in leases.state
  state_after  smallint    NOT NULL,
  renewals     integer     NOT NULL,
  why          text,
  details      text                  -- a JSON object of strings
);

-- Run-time settings that were ever set.
CREATE TABLE {s}.lease_configs (
  key   text   NOT NULL PRIMARY KEY,
  type  text   NOT NULL CHECK (type IN ('integer', 'boolean')),
  value bigint NOT NULL
);

-- The one row that every operation reads: its version changes with the settings, the
-- purge point and the mark of a move.
CREATE TABLE {s}.lease_control (
  one        boolean     NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
  version    bigint      NOT NULL,
  purged     bigint      NOT NULL, -- records up to here are hidden, and deleted by and by
  move_id    text        NOT NULL,
  move_state text        NOT NULL, -- '' open, leaving, left, moved, arriving
  move_peer  text        NOT NULL, -- the other store's URL, without secrets
  move_until timestamptz NOT NULL  -- when leaving runs out
) WITH (fillfactor = 50);

INSERT INTO {s}.lease_control VALUES (true, 1, 0, '', '', '', '-infinity');

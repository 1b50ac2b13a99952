-- The part that this file has in a move of its leases to or from another store; see
-- package internal/move.
CREATE TABLE lease_move (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  id      TEXT    NOT NULL,
  state   TEXT    NOT NULL CHECK (state IN ('', 'leaving', 'left', 'moved', 'arriving')),
  peer    TEXT    NOT NULL,
  until   INTEGER NOT NULL, -- of leaving: nanoseconds on the clock of lease_counters
  version INTEGER NOT NULL  -- counts changes of this row and of lease_configs in shared mode
) STRICT;

INSERT INTO lease_move (one, id, state, peer, until, version) VALUES (1, '', '', '', 0, 1);

-- Times called ticks are counted in 100 ns since the year 1, as Azure counts
-- them: an ETag is one in hexadecimal digits, a snapshot's id is one as a date.

CREATE TABLE blob_accounts (
  account    TEXT PRIMARY KEY,
  properties BLOB NOT NULL           -- service properties, as JSON
) WITHOUT ROWID;

CREATE TABLE blob_containers (
  id       INTEGER PRIMARY KEY,      -- not used again before the next start
  account  TEXT NOT NULL,
  name     TEXT NOT NULL,
  ticks    INTEGER NOT NULL,         -- ETag and time of the last change
  details  BLOB NOT NULL,            -- JSON: metadata, public access, policies
  deleting INTEGER NOT NULL DEFAULT 0, -- deleted for everybody, not yet emptied
  UNIQUE (account, name)
);

-- A blob or a snapshot of one. A base blob has the largest snapshot number
-- there is, so that it comes after its snapshots in every list.
CREATE TABLE blob_items (
  container INTEGER NOT NULL,
  name      TEXT NOT NULL,
  snapshot  INTEGER NOT NULL,
  kind      INTEGER NOT NULL,        -- 1 block, 2 append, 3 page
  committed INTEGER NOT NULL,        -- 0: only uncommitted blocks so far
  ticks     INTEGER NOT NULL,        -- ETag and time of the last change
  created   INTEGER NOT NULL,        -- ticks
  size      INTEGER NOT NULL,
  manifest  INTEGER NOT NULL,        -- its pieces; 0: none
  details   BLOB NOT NULL,           -- JSON: headers, metadata, tags, tier, copy
  expires   INTEGER,                 -- ticks; when a snapshot goes by itself
  PRIMARY KEY (container, name, snapshot)
) WITHOUT ROWID;

CREATE INDEX blob_items_expiring ON blob_items (expires) WHERE expires IS NOT NULL;

-- What an item's content is made of. Only a blob and its snapshots share a
-- manifest; what lies beyond an item's size is not part of it.
CREATE TABLE blob_pieces (
  manifest INTEGER NOT NULL,
  start    INTEGER NOT NULL,         -- where in the blob
  size     INTEGER NOT NULL,
  chunk    INTEGER NOT NULL,
  at       INTEGER NOT NULL,         -- where in the chunk
  block    TEXT,                     -- id of the block, in base64; block blobs only
  PRIMARY KEY (manifest, start)
) WITHOUT ROWID;

-- Uncommitted blocks.
CREATE TABLE blob_blocks (
  container INTEGER NOT NULL,
  name      TEXT NOT NULL,
  block     TEXT NOT NULL,
  size      INTEGER NOT NULL,
  chunk     INTEGER NOT NULL,
  staged    INTEGER NOT NULL,        -- ticks
  PRIMARY KEY (container, name, block)
) WITHOUT ROWID;

-- Bytes that never change. Refs counts the pieces and blocks that refer to
-- them; whoever reaches zero is collected.
CREATE TABLE blob_chunks (
  id   INTEGER PRIMARY KEY,
  size INTEGER NOT NULL,
  crc  INTEGER NOT NULL,
  refs INTEGER NOT NULL,
  data BLOB                          -- NULL: in a file
);

CREATE INDEX blob_chunks_free ON blob_chunks (id) WHERE refs <= 0;

-- Manifests that an item has let go of, to be collected once no item of that
-- name has them and nobody reads them any more.
CREATE TABLE blob_dropped (
  manifest  INTEGER PRIMARY KEY,
  container INTEGER NOT NULL,
  name      TEXT NOT NULL
);

-- Tags of base blobs, to find blobs by.
CREATE TABLE blob_tags (
  container INTEGER NOT NULL,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  name      TEXT NOT NULL,
  PRIMARY KEY (container, key, value, name)
) WITHOUT ROWID;

CREATE INDEX blob_tags_of ON blob_tags (container, name);

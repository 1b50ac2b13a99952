-- Who refers to a chunk, so that the collector asks before it deletes one: refs is
-- only a count, and a wrong one must not cost content.
CREATE INDEX blob_pieces_chunk ON blob_pieces (chunk);
CREATE INDEX blob_blocks_chunk ON blob_blocks (chunk);

-- What a lease covers that was acquired by claims: a JSON array of objects with
-- pattern, mode and, of a pattern, namespace. Null: the resource itself, exclusively;
-- and of an ended lease, unless it left a note.
ALTER TABLE leases ADD COLUMN claims TEXT;
-- What earlier holders left for the holder; of an ended lease, what it left for the
-- next: a JSON array of objects with from and text.
ALTER TABLE leases ADD COLUMN notes TEXT;

-- Whether the database has any content.
SELECT count(*) FROM sqlite_schema

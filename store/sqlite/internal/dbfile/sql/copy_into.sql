-- A compact copy of the database, as of now, into the file ?1.
VACUUM INTO ?1

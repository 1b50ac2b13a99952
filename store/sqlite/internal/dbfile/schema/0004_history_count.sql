-- How many history records are not purged, so that nobody has to count a million.
ALTER TABLE lease_counters ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
UPDATE lease_counters SET kept = (SELECT count(*) FROM lease_history WHERE seq > lease_counters.purged);

-- Waits for every step under way, and lets none start: all of them lock rows or write.
LOCK TABLE {s}.leases IN EXCLUSIVE MODE

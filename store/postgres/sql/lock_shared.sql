-- Lets no step be alone until the end of this one.
LOCK TABLE {s}.leases IN ROW SHARE MODE

-- Tells other servers that the lease row ends, or ends sooner, if anybody waits.
if row.waiting and tonumber(row.waiting) > now then call('PUBLISH', prefix .. 'leases:freed', resource) end

-- wake tells other servers that the lease ends, or ends sooner, if anybody waits.
local function wake(row)
  if row.waiting and tonumber(row.waiting) > now then call('PUBLISH', prefix .. 'leases:freed', resource) end
end

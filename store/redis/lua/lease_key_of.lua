-- lease_key_of escapes what would be a hash tag.
local function lease_key_of(name)
  return prefix .. 'lease:' .. string.gsub(name, '[{}%%]', {['{'] = '%7B', ['}'] = '%7D', ['%'] = '%25'})
end

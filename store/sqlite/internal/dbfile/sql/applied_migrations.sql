SELECT module, version, name FROM migrations WHERE status = 'applied'

SELECT id, state, peer, until FROM lease_move WHERE one = 1

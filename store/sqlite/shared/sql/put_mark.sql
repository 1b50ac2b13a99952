UPDATE lease_move SET id = ?, state = ?, peer = ?, until = ?, version = ? WHERE one = 1

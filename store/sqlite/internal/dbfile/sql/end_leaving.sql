UPDATE lease_move SET state = '', until = 0, version = version + 1 WHERE one = 1

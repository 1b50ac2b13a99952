SELECT properties FROM blob_accounts WHERE account = ?

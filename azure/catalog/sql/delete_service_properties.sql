DELETE FROM blob_accounts WHERE ?1 IN ('', account)

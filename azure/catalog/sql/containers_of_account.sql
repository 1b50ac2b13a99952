SELECT account, name FROM blob_containers WHERE ?1 IN ('', account)

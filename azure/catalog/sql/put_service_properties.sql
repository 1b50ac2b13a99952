INSERT OR REPLACE INTO blob_accounts (account, properties) VALUES (?, ?)

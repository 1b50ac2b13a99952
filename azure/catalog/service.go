package catalog

import (
	"context"

	"github.com/leasehold/leasehold/engine"
)

// ServiceProperties returns the account's service properties as they were set,
// or nil if they never were.
func (c *Catalog) ServiceProperties(ctx context.Context, account string) ([]byte, error) {
	var properties []byte
	const sql = `SELECT properties FROM blob_accounts WHERE account = ?`
	_, err := c.one(ctx, sql, []any{account}, func(r engine.Columns) { properties = r.Bytes(0) })
	return properties, err
}

// SetServiceProperties keeps the account's service properties, as JSON that
// only the caller understands.
func (c *Catalog) SetServiceProperties(ctx context.Context, account string, json []byte) error {
	set := do(`INSERT OR REPLACE INTO blob_accounts (account, properties) VALUES (?, ?)`, account, json)
	return c.do(ctx, resourcePrefix+account, func(engine.View) (engine.Decision, error) {
		return engine.Decision{Extras: []engine.Statement{set}}, nil
	})
}

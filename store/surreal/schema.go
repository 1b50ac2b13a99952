package surreal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errNoTables = errors.New("surreal: the database has no leases; a store that may make the tables has to open it first")

// define makes the tables, if they are missing. Others may do so at the same time.
func (b *backend) define(ctx context.Context, mustExist bool) error {
	version, err := b.db.Version(ctx)
	if err != nil {
		return classify(err)
	}
	if err := b.supports(version.Version); err != nil {
		return unavailable(err)
	}
	if mustExist {
		return b.exists(ctx)
	}
	var none any
	return b.read(ctx, defineText, nil, &none)
}

// supports checks the server's version.
func (b *backend) supports(version string) error {
	first, _, _ := strings.Cut(version, ".")
	switch major, err := strconv.Atoi(first); {
	case err != nil || major < 2:
		return fmt.Errorf("surreal: the server's version is %.20q; want 2 or later", version)
	case major == 2:
		b.thing = "type::thing"
	}
	return nil
}

// exists checks that the tables are there.
func (b *backend) exists(ctx context.Context) error {
	var info struct {
		Tables map[string]string `json:"tables"`
	}
	if err := b.read(ctx, "INFO FOR DB", nil, &info); err != nil {
		return err
	}
	if info.Tables["leases"] == "" || info.Tables["lease_numbers"] == "" {
		return unavailable(errNoTables)
	}
	return nil
}

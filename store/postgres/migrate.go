package postgres

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// migration is one file of the folder schema.
type migration struct {
	version int
	name    string
	sql     string
}

// migrations are all of them, in their order.
func migrations(schema string) []migration {
	files, _ := schemaFiles.ReadDir("schema")
	var all []migration
	for _, file := range files {
		text, _ := schemaFiles.ReadFile("schema/" + file.Name())
		number, name, _ := strings.Cut(strings.TrimSuffix(file.Name(), ".sql"), "_")
		version, _ := strconv.Atoi(number)
		all = append(all, migration{version, name, strings.ReplaceAll(string(text), "{s}", `"`+schema+`"`)})
	}
	return all
}

// migrate brings the schema up to date. A user who may not make tables can use those
// that are there.
func (d *db) migrate(ctx context.Context, conn *pgx.Conn) error {
	all := migrations(d.opts.Schema)
	version, err := d.schemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	last := all[len(all)-1].version
	if version > last {
		return errNewer(version, last)
	}
	if version == last {
		return nil
	}
	if version == 0 && d.opts.MustExist {
		return fmt.Errorf("there are no leases in the schema %s of this database; start a server on it first, or name another schema", d.opts.Schema)
	}
	return d.applyAll(ctx, conn, all)
}

func errNewer(version, last int) error {
	return fmt.Errorf("the schema has version %d and this program knows %d; use a newer program", version, last)
}

// schemaVersion is the version of the tables; zero: there are none.
func (d *db) schemaVersion(ctx context.Context, q querier) (version int, err error) {
	var exists bool
	err = q.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.QueryExecModeExec, `"`+d.opts.Schema+`".migrations`).Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	err = q.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM "`+d.opts.Schema+`".migrations`, pgx.QueryExecModeExec).Scan(&version)
	return version, err
}

// applyAll runs what is missing, in one transaction. Servers that start together do
// so one after the other.
func (d *db) applyAll(ctx context.Context, conn *pgx.Conn, all []migration) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		exec := func(sql string, args ...any) error {
			mode := pgx.QueryExecModeExec
			if len(args) == 0 {
				mode = pgx.QueryExecModeSimpleProtocol // several statements in one text
			}
			_, err := tx.Exec(ctx, sql, append([]any{mode}, args...)...)
			return err
		}
		if err := exec("SELECT pg_advisory_xact_lock(hashtext($1))", "leasehold schema "+d.opts.Schema); err != nil {
			return err
		}
		if err := d.makeSchema(ctx, tx, exec); err != nil {
			return err
		}
		version, err := d.schemaVersion(ctx, tx)
		if err != nil {
			return err
		}
		if last := all[len(all)-1].version; version > last {
			return errNewer(version, last)
		}
		for _, m := range all {
			if m.version <= version {
				continue
			}
			if err := exec(m.sql); err != nil {
				return err
			}
			if err := exec(`INSERT INTO "`+d.opts.Schema+`".migrations (version, name) VALUES ($1, $2)`, m.version, m.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// makeSchema makes the schema and the table of migrations if they are missing.
func (d *db) makeSchema(ctx context.Context, tx pgx.Tx, exec func(string, ...any) error) error {
	var exists bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", pgx.QueryExecModeExec, d.opts.Schema).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists {
		if err := exec(`CREATE SCHEMA "` + d.opts.Schema + `"`); err != nil {
			return err
		}
	}
	return exec(`CREATE TABLE IF NOT EXISTS "` + d.opts.Schema + `".migrations (
		version    integer     NOT NULL PRIMARY KEY,
		name       text        NOT NULL,
		applied_at timestamptz NOT NULL DEFAULT now(),
		status     text        NOT NULL DEFAULT 'applied',
		error      text
	)`)
}

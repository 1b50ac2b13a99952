package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// load reads all that the engine keeps in memory.
func (w *writer) load(ctx context.Context, each func(machine.Row) error) (local.State, error) {
	w.conn.SetInterrupt(ctx.Done())
	defer w.conn.SetInterrupt(nil)
	var s local.State
	err := w.loadAll(&s, each)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s, err
}

func (w *writer) loadAll(s *local.State, each func(machine.Row) error) error {
	found, err := readCounters(w.conn, &s.Counters)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the counters are missing: %w", errMalformed)
	}
	if s.Settings, err = readSettings(w.conn); err != nil {
		return err
	}
	return readRows(w.conn, each)
}

func readCounters(conn *sqlite.Conn, c *local.Counters) (found bool, err error) {
	err = sqlitex.ExecuteTransient(conn, sqlCounters, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		found = true
		c.Commit = uint64(s.ColumnInt64(0))
		c.Clock = machine.Time(s.ColumnInt64(1))
		c.Token = uint64(s.ColumnInt64(2))
		c.Seq = uint64(s.ColumnInt64(3))
		c.Purged = uint64(s.ColumnInt64(4))
		c.Reading = local.Reading{
			BootID: s.ColumnText(5), TimeNamespace: s.ColumnText(6),
			Boot: time.Duration(s.ColumnInt64(7)), Wall: s.ColumnInt64(8),
		}
		return nil
	}})
	return found, err
}

func readSettings(conn *sqlite.Conn) (map[string]any, error) {
	settings := map[string]any{}
	err := sqlitex.ExecuteTransient(conn, sqlAllConfigs, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		if s.ColumnText(1) == "boolean" {
			settings[s.ColumnText(0)] = s.ColumnBool(2)
		} else {
			settings[s.ColumnText(0)] = s.ColumnInt64(2)
		}
		return nil
	}})
	return settings, err
}

func readRows(conn *sqlite.Conn, each func(machine.Row) error) error {
	reader := newRowReader()
	return sqlitex.ExecuteTransient(conn, sqlAllLeases, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		row, err := reader.row(s)
		if err != nil {
			return err
		}
		return each(row)
	}})
}

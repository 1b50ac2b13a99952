package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// writer is the one connection that writes, with its statements prepared.
type writer struct {
	conn *sqlite.Conn

	begin, commit, putLease, dropLease, addRecord, putConfig, putCounters, purgeStep *sqlite.Stmt

	deleted uint64 // no record up to here is left in the file
}

// purgeLimit is how many purged records one commit deletes at most, so that a
// purge of a million blocks nobody: this many take a millisecond or two.
const purgeLimit = 1000

// openWriter opens the file for writing. It never makes one: a file that was
// deleted must not come back empty.
func openWriter(path string, d Durability) (*writer, error) {
	conn, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn}
	if err := w.prepare(d); err != nil {
		conn.Close()
		return nil, err
	}
	return w, nil
}

func (w *writer) prepare(d Durability) error {
	for _, pragma := range []string{
		"PRAGMA synchronous = " + d.synchronous(),
		"PRAGMA fullfsync = ON",                // on macOS a plain fsync reaches only the drive's cache
		"PRAGMA journal_size_limit = 67108864", // a log that grew during a long backup is truncated
		"PRAGMA temp_store = MEMORY",           // a file for a statement's small journal costs more than the statement
	} {
		if err := run(w.conn, pragma); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		stmt **sqlite.Stmt
		sql  string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.putLease, sqlPutLease},
		{&w.dropLease, sqlDropLease},
		{&w.addRecord, sqlAddRecord},
		{&w.putConfig, sqlPutConfig},
		{&w.putCounters, sqlPutCounters},
		{&w.purgeStep, sqlPurgeStep},
	} {
		stmt, err := w.conn.Prepare(p.sql)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}

// write writes the batch in one transaction. After an error the transaction ends
// with the connection.
func (w *writer) write(b *local.Batch) error {
	if len(b.Rows)+len(b.Records)+len(b.Settings)+len(b.Extras) == 0 && w.deleted >= b.Purged {
		return w.writeCounters(b) // the clock's save every second: one statement needs no transaction
	}
	if err := runPrepared(w.begin); err != nil {
		return err
	}
	for _, write := range []func(*local.Batch) error{
		w.writeRows, w.writeRecords, w.writeSettings, w.writeExtras, w.writeCounters, w.purge,
	} {
		if err := write(b); err != nil {
			return err
		}
	}
	return runPrepared(w.commit)
}

func (w *writer) writeRows(b *local.Batch) error {
	for i := range b.Rows {
		r := &b.Rows[i]
		stmt := w.putLease
		if r.Gone {
			stmt = w.dropLease
			stmt.BindText(1, r.Resource)
		} else {
			bindRow(stmt, &r.Row)
		}
		if err := runPrepared(stmt); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeRecords(b *local.Batch) error {
	for i := range b.Records {
		bindRecord(w.addRecord, &b.Records[i])
		if err := runPrepared(w.addRecord); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeSettings(b *local.Batch) error {
	for _, s := range b.Settings {
		bindSetting(w.putConfig, s)
		if err := runPrepared(w.putConfig); err != nil {
			return err
		}
	}
	return nil
}

// bindSetting binds the setting to sql/put_config.sql.
func bindSetting(stmt *sqlite.Stmt, s leasehold.Setting) {
	stmt.BindText(1, s.Key)
	stmt.BindText(2, s.Type())
	switch v := s.Value.(type) {
	case bool:
		stmt.BindBool(3, v)
	case int64:
		stmt.BindInt64(3, v)
	}
}

// writeExtras runs the modules' statements. They stay prepared, so a module
// puts its values into arguments and not into the text.
func (w *writer) writeExtras(b *local.Batch) error {
	for _, extra := range b.Extras {
		if err := w.writeExtra(extra); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeExtra(extra engine.Statement) error {
	stmt, err := w.conn.Prepare(extra.SQL)
	if err != nil {
		return err
	}
	if err := bindArgs(stmt, extra.Args); err != nil {
		return err
	}
	return eachRow(stmt, func() error { return nil }) // of a RETURNING clause
}

func (w *writer) writeCounters(b *local.Batch) error {
	s := w.putCounters
	s.BindInt64(1, int64(b.Commit))
	s.BindInt64(2, int64(b.Clock))
	s.BindInt64(3, int64(b.Token))
	s.BindInt64(4, int64(b.Seq))
	s.BindInt64(5, int64(b.Purged))
	s.BindText(6, b.Reading.BootID)
	s.BindText(7, b.Reading.TimeNamespace)
	s.BindInt64(8, int64(b.Reading.Boot))
	s.BindInt64(9, b.Reading.Wall)
	s.BindInt64(10, b.Kept)
	return runPrepared(s)
}

// purge deletes up to purgeLimit records that are purged and hidden already.
func (w *writer) purge(b *local.Batch) error {
	if w.deleted >= b.Purged {
		return nil
	}
	w.purgeStep.BindInt64(1, int64(b.Purged))
	w.purgeStep.BindInt64(2, purgeLimit)
	if err := runPrepared(w.purgeStep); err != nil {
		return err
	}
	if w.conn.Changes() < purgeLimit {
		w.deleted = b.Purged
	}
	return nil
}

// load reads everything that the engine keeps in memory.
func (w *writer) load(ctx context.Context, each func(machine.Row) error) (local.JournalState, error) {
	w.conn.SetInterrupt(ctx.Done())
	defer w.conn.SetInterrupt(nil)
	var s local.JournalState
	err := w.loadAll(&s, each)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s, err
}

func (w *writer) loadAll(s *local.JournalState, each func(machine.Row) error) error {
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
		c.Kept = s.ColumnInt64(9)
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

package dbfile

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

// Writer is the one connection that writes, with its statements prepared.
type Writer struct {
	Conn *sqlite.Conn

	begin, commit, putLease, dropLease, addRecord, putConfig, putCounters, purgeStep *sqlite.Stmt

	deleted uint64 // no record up to here is left in the file
}

// PurgeLimit is how many purged records one commit deletes at most, so that a
// purge of a million blocks nobody: this many take a millisecond or two.
const PurgeLimit = 1000

// OpenWriter opens the file for writing. It never makes one: a file that was
// deleted must not come back empty.
func OpenWriter(path, synchronous string) (*Writer, error) {
	conn, err := Connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	w := &Writer{Conn: conn}
	if err := w.prepare(synchronous); err != nil {
		conn.Close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) prepare(synchronous string) error {
	for _, pragma := range []string{
		"PRAGMA synchronous = " + synchronous,
		"PRAGMA fullfsync = ON",                // on macOS a plain fsync reaches only the drive's cache
		"PRAGMA journal_size_limit = 67108864", // a log that grew during a long backup is truncated
		"PRAGMA temp_store = MEMORY",           // a file for a statement's small journal costs more than the statement
	} {
		if err := Run(w.Conn, pragma); err != nil {
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
		stmt, err := w.Conn.Prepare(p.sql)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}

// Write writes the batch in one transaction. After an error the transaction ends
// with the connection.
func (w *Writer) Write(b *local.Batch) error {
	if len(b.Rows)+len(b.Records)+len(b.Settings)+len(b.Extras) == 0 && w.deleted >= b.Purged {
		return w.writeCounters(b) // the clock's save every second: one statement needs no transaction
	}
	if err := w.Start(); err != nil {
		return err
	}
	if err := w.WritePart(b); err != nil {
		return err
	}
	return w.Commit()
}

// Start starts a transaction that keeps other writers out.
func (w *Writer) Start() error { return RunPrepared(w.begin) }

// Commit makes the transaction durable.
func (w *Writer) Commit() error { return RunPrepared(w.commit) }

// WritePart writes the batch inside a transaction.
func (w *Writer) WritePart(b *local.Batch) error {
	for _, write := range []func(*local.Batch) error{
		w.writeRows, w.writeRecords, w.writeSettings, w.writeExtras, w.writeCounters, w.purge,
	} {
		if err := write(b); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeRows(b *local.Batch) error {
	for i := range b.Rows {
		if err := w.WriteRow(&b.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// WriteRow writes a row inside a transaction.
func (w *Writer) WriteRow(r *local.RowChange) error {
	if r.Gone {
		w.dropLease.BindText(1, r.Resource)
		return RunPrepared(w.dropLease)
	}
	bindRow(w.putLease, &r.Row)
	return RunPrepared(w.putLease)
}

func (w *Writer) writeRecords(b *local.Batch) error {
	for i := range b.Records {
		bindRecord(w.addRecord, &b.Records[i])
		if err := RunPrepared(w.addRecord); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeSettings(b *local.Batch) error {
	for _, s := range b.Settings {
		bindSetting(w.putConfig, s)
		if err := RunPrepared(w.putConfig); err != nil {
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
func (w *Writer) writeExtras(b *local.Batch) error {
	for _, extra := range b.Extras {
		if err := w.writeExtra(extra); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeExtra(extra engine.Statement) error {
	stmt, err := w.Conn.Prepare(extra.SQL)
	if err != nil {
		return err
	}
	if err := BindArgs(stmt, extra.Args); err != nil {
		return err
	}
	return EachRow(stmt, func() error { return nil }) // of a RETURNING clause
}

func (w *Writer) writeCounters(b *local.Batch) error {
	return runCounters(w.putCounters, &b.Counters)
}

// runCounters binds the counters to sql/put_counters.sql and runs it.
func runCounters(s *sqlite.Stmt, c *local.Counters) error {
	s.BindInt64(1, int64(c.Commit))
	s.BindInt64(2, int64(c.Clock))
	s.BindInt64(3, int64(c.Token))
	s.BindInt64(4, int64(c.Seq))
	s.BindInt64(5, int64(c.Purged))
	s.BindText(6, c.Reading.BootID)
	s.BindText(7, c.Reading.TimeNamespace)
	s.BindInt64(8, int64(c.Reading.Boot))
	s.BindInt64(9, c.Reading.Wall)
	s.BindInt64(10, c.Kept)
	return RunPrepared(s)
}

// purge deletes up to PurgeLimit records that are purged and hidden already.
func (w *Writer) purge(b *local.Batch) error {
	if w.deleted >= b.Purged {
		return nil
	}
	n, err := w.DeletePurged(b.Purged, PurgeLimit)
	if err == nil && n < PurgeLimit {
		w.deleted = b.Purged
	}
	return err
}

// DeletePurged deletes up to n records, those up to one, inside a transaction.
func (w *Writer) DeletePurged(through uint64, n int) (int, error) {
	w.purgeStep.BindInt64(1, int64(through))
	w.purgeStep.BindInt64(2, int64(n))
	err := RunPrepared(w.purgeStep)
	return w.Conn.Changes(), err
}

// Load reads everything that the engine keeps in memory.
func (w *Writer) Load(ctx context.Context, each func(machine.Row) error) (local.JournalState, error) {
	w.Conn.SetInterrupt(ctx.Done())
	defer w.Conn.SetInterrupt(nil)
	var s local.JournalState
	err := w.loadAll(&s, each)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s, err
}

func (w *Writer) loadAll(s *local.JournalState, each func(machine.Row) error) error {
	found, err := ReadCounters(w.Conn, &s.Counters)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the counters are missing: %w", ErrMalformed)
	}
	if s.Settings, err = ReadSettings(w.Conn); err != nil {
		return err
	}
	return readRows(w.Conn, each)
}

func ReadCounters(conn *sqlite.Conn, c *local.Counters) (found bool, err error) {
	err = sqlitex.ExecuteTransient(conn, sqlCounters, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		found = true
		*c = CountersOf(s)
		return nil
	}})
	return found, err
}

// CountersOf reads the columns of sql/counters.sql.
func CountersOf(s *sqlite.Stmt) local.Counters {
	return local.Counters{
		Commit: uint64(s.ColumnInt64(0)),
		Clock:  machine.Time(s.ColumnInt64(1)),
		Token:  uint64(s.ColumnInt64(2)),
		Seq:    uint64(s.ColumnInt64(3)),
		Purged: uint64(s.ColumnInt64(4)),
		Reading: local.Reading{
			BootID: s.ColumnText(5), TimeNamespace: s.ColumnText(6),
			Boot: time.Duration(s.ColumnInt64(7)), Wall: s.ColumnInt64(8),
		},
		Kept: s.ColumnInt64(9),
	}
}

// ReadSettings reads the settings that were ever set.
func ReadSettings(conn *sqlite.Conn) (map[string]any, error) {
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
	reader := newSharingReader()
	return sqlitex.ExecuteTransient(conn, sqlAllLeases, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		row, err := reader.Row(s)
		if err != nil {
			return err
		}
		return each(row)
	}})
}

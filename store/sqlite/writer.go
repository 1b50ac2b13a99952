package sqlite

import (
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
)

// writer is the one connection that writes, with its statements prepared.
type writer struct {
	conn *sqlite.Conn

	begin, commit, putLease, dropLease, addRecord, putConfig, putCounters, purgeBite *sqlite.Stmt

	deleted uint64 // no record up to here is left in the file
}

// bite is how many purged records one commit deletes at most, so that a purge
// of a million stalls nobody: a bite takes a millisecond or two.
const bite = 1000

// openWriter opens the file for writing. It never makes one: a file that is
// gone must not come back empty.
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
		"PRAGMA journal_size_limit = 67108864", // a log that a long backup made grow is cut again
		"PRAGMA temp_store = MEMORY",           // a statement's own journal is small, and a file of it costs more than the statement
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
		{&w.purgeBite, sqlPurgeBite},
	} {
		stmt, err := w.conn.Prepare(p.sql)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}

// perform runs a bound statement and makes it ready for the next time.
func perform(s *sqlite.Stmt) error {
	if _, err := s.Step(); err != nil {
		return err
	}
	return s.Reset()
}

// write writes the batch in one transaction. After an error the transaction is
// left to die with the connection.
func (w *writer) write(b *local.Batch) error {
	if len(b.Rows)+len(b.Records)+len(b.Settings)+len(b.Extras) == 0 && w.deleted >= b.Purged {
		return w.writeCounters(b) // the clock's every second; one statement is a transaction by itself
	}
	if err := perform(w.begin); err != nil {
		return err
	}
	for _, part := range []func(*local.Batch) error{
		w.writeRows, w.writeRecords, w.writeSettings, w.writeExtras, w.writeCounters, w.purge,
	} {
		if err := part(b); err != nil {
			return err
		}
	}
	return perform(w.commit)
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
		if err := perform(stmt); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeRecords(b *local.Batch) error {
	for i := range b.Records {
		bindRecord(w.addRecord, &b.Records[i])
		if err := perform(w.addRecord); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeSettings(b *local.Batch) error {
	for _, s := range b.Settings {
		bindSetting(w.putConfig, s)
		if err := perform(w.putConfig); err != nil {
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
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return stmt.Reset()
		}
	}
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
	return perform(s)
}

// purge deletes a bite of what is purged and hidden already.
func (w *writer) purge(b *local.Batch) error {
	if w.deleted >= b.Purged {
		return nil
	}
	w.purgeBite.BindInt64(1, int64(b.Purged))
	w.purgeBite.BindInt64(2, bite)
	if err := perform(w.purgeBite); err != nil {
		return err
	}
	if w.conn.Changes() < bite {
		w.deleted = b.Purged
	}
	return nil
}

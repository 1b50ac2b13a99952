package shared

import (
	"math/rand/v2"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/store/sqltx"
	sqlitedb "zombiezen.com/go/sqlite"
)

// transaction is the steps of one commit. Rows are written at once, so that later
// steps find them; records and counters at the end.
type transaction struct {
	header
	db      *db
	w       *dbfile.Writer
	changed bool
	control bool // settings, mark or purge point changed
	batch   local.Batch
}

// newTransaction reads what all steps need. No other process can write now.
func (d *db) newTransaction() (*transaction, error) {
	h, err := d.readHeader(d.write.Conn)
	return &transaction{header: h, db: d, w: d.write}, err
}

// run runs one step. An error of its own goes to the step alone; one that is
// returned voids the transaction.
func (t *transaction) run(s *step) error {
	if s.custom != nil {
		t.changed = true
		t.tick()
		return s.custom(t)
	}
	for {
		found, err := t.find(s.need)
		if err != nil {
			s.err = t.db.unavailable(err)
			return nil
		}
		s.done.Found, s.done.Now = found, found.Now
		w := s.decide(found)
		if w.IsZero() {
			return nil
		}
		if w.Until == 0 || t.tick().Clock < w.Until {
			t.changed = true
			return t.write(&w, &s.done)
		}
	}
}

// tick advances the clock.
func (t *transaction) tick() machine.Instant {
	now, next := t.Advance()
	t.Counters = next
	return now
}

// find reads what a step needs.
func (t *transaction) find(n sqltx.Need) (sqltx.Found, error) {
	return find(t.w.Conn, t.tick(), t.header, n)
}

// write writes what a step has decided.
func (t *transaction) write(w *sqltx.Write, done *sqltx.Done) error {
	if w.Forget != "" {
		if err := t.w.WriteRow(&local.RowChange{Row: machine.Row{Resource: w.Forget}, Gone: true}); err != nil {
			return err
		}
	}
	if err := t.clear(w, done); err != nil {
		return err
	}
	t.Token = max(t.Token, w.Token)
	if w.Grant {
		t.Token++
		done.Token = t.Token
	}
	if err := t.writeRows(w, done.Token); err != nil {
		return err
	}
	t.record(w, done.Token)
	if err := t.purge(w); err != nil {
		return err
	}
	if err := t.configure(w); err != nil {
		return err
	}
	return t.mark(w)
}

func (t *transaction) writeRows(w *sqltx.Write, token uint64) error {
	for i, row := range w.Rows {
		if w.Grant && i == len(w.Rows)-1 {
			row.Token = token
		}
		if err := t.w.WriteRow(&local.RowChange{Row: row, Gone: row.State == leasehold.StateAvailable}); err != nil {
			return err
		}
	}
	return nil
}

// record numbers the records. Those that are not kept use up their number.
func (t *transaction) record(w *sqltx.Write, token uint64) {
	for i, r := range w.Records {
		t.Seq++
		if !w.Kept[i] {
			continue
		}
		r.Seq = t.Seq
		if r.Token == 0 {
			r.Token = token
		}
		t.Kept++
		t.batch.Records = append(t.batch.Records, r)
	}
}

// clear deletes rows, for a move.
func (t *transaction) clear(w *sqltx.Write, done *sqltx.Done) error {
	if w.Clear == 0 {
		return nil
	}
	stmt, err := t.w.Conn.Prepare(sqlClear)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, int64(w.Clear))
	if err := dbfile.RunPrepared(stmt); err != nil {
		return err
	}
	done.Cleared = t.w.Conn.Changes()
	return nil
}

// purge hides records. They are deleted by later commits.
func (t *transaction) purge(w *sqltx.Write) error {
	if w.Purged <= t.Purged {
		return nil
	}
	n, err := dbfile.CountThrough(t.w.Conn, w.Purged)
	if err != nil {
		return err
	}
	t.Kept -= int64(n)
	t.Purged, t.header.control.Purged = w.Purged, w.Purged
	t.control = true
	return nil
}

func (t *transaction) configure(w *sqltx.Write) error {
	if len(w.Settings) == 0 && !w.ResetSettings {
		return nil
	}
	settings := map[string]any{}
	if w.ResetSettings {
		t.batch.Settings = nil
		if err := dbfile.Run(t.w.Conn, sqlResetSettings); err != nil {
			return err
		}
	} else {
		for key, value := range t.header.control.Settings {
			settings[key] = value
		}
	}
	for key, value := range w.Settings {
		settings[key] = value
		t.batch.Settings = append(t.batch.Settings, leasehold.Setting{Key: key, Value: value, Default: value})
	}
	t.header.control.Settings = settings
	t.control = true
	return nil
}

func (t *transaction) mark(w *sqltx.Write) error {
	if w.Mark != nil {
		t.header.control.Mark = *w.Mark
		t.control = true
	}
	if !t.control {
		return nil
	}
	// A version that nobody has seen: one of a commit that fails must not return.
	version := rand.Int64()
	t.control, t.header.control.Version = false, version+t.epoch
	m := t.header.control.Mark
	stmt, err := t.w.Conn.Prepare(sqlPutMark)
	if err != nil {
		return err
	}
	stmt.BindText(1, m.ID)
	stmt.BindText(2, string(m.State))
	stmt.BindText(3, m.Peer)
	stmt.BindInt64(4, int64(m.Until))
	stmt.BindInt64(5, version)
	return dbfile.RunPrepared(stmt)
}

// finish writes what is left, and the counters with the clock.
func (t *transaction) finish() error {
	t.Commit++
	t.batch.Counters = t.Counters
	return t.w.WritePart(&t.batch)
}

// find reads what a step or a reader needs.
func find(conn *sqlitedb.Conn, now machine.Instant, h header, n sqltx.Need) (f sqltx.Found, err error) {
	f = sqltx.Found{Now: now, Control: h.control}
	switch {
	case n.Resource != "":
		f.Row, _, err = rowWhere(conn, sqlRowByName, func(s *sqlitedb.Stmt) { s.BindText(1, n.Resource) })
		f.Row.Resource = n.Resource
	case !n.ID.IsZero():
		f.Row, _, err = rowByID(conn, n.ID)
	}
	if err == nil && !n.Proposed.IsZero() {
		var row machine.Row
		var ok bool
		if row, ok, err = rowByID(conn, n.Proposed); ok {
			f.Known = &row
		}
	}
	if err == nil && n.Holder != "" {
		f.Rows, err = rowsWhere(conn, sqlRowsOfHolder, func(s *sqlitedb.Stmt) { s.BindText(1, n.Holder) })
	}
	if err == nil && n.Due > 0 {
		f.Rows, err = rowsWhere(conn, sqlRowsDue, func(s *sqlitedb.Stmt) {
			s.BindInt64(1, int64(now.Clock))
			s.BindInt64(2, int64(n.Due))
		})
	}
	if err == nil && n.Live {
		f.Counted = true
		err = countLive(conn, now, n, &f)
	}
	if err == nil && n.Base {
		f.Base, err = readBase(conn, now, h)
	}
	return f, err
}

// rowByID is the row whose id or former id it is.
func rowByID(conn *sqlitedb.Conn, id leasehold.ID) (machine.Row, bool, error) {
	bind := func(s *sqlitedb.Stmt) { s.BindBytes(1, id[:]) }
	row, ok, err := rowWhere(conn, sqlRowByID, bind)
	if err != nil || ok {
		return row, ok, err
	}
	return rowWhere(conn, sqlRowByFormer, bind)
}

func rowWhere(conn *sqlitedb.Conn, sql string, bind func(*sqlitedb.Stmt)) (machine.Row, bool, error) {
	rows, err := rowsWhere(conn, sql, bind)
	if err != nil || len(rows) == 0 {
		return machine.Row{}, false, err
	}
	return rows[0], true, nil
}

func rowsWhere(conn *sqlitedb.Conn, sql string, bind func(*sqlitedb.Stmt)) (rows []machine.Row, err error) {
	var reader dbfile.RowReader
	err = query(conn, sql, bind, func(s *sqlitedb.Stmt) error {
		row, err := reader.Row(s)
		rows = append(rows, row)
		return err
	})
	return rows, err
}

// countLive counts live leases, as far as they are wanted.
func countLive(conn *sqlitedb.Conn, now machine.Instant, n sqltx.Need, f *sqltx.Found) (err error) {
	if n.Most >= 0 {
		f.Live, err = queryInt(conn, sqlCountLive, func(s *sqlitedb.Stmt) {
			s.BindInt64(1, int64(now.Clock))
			s.BindInt64(2, n.Most)
		})
	}
	if err == nil && n.Caller != "" && n.CallerMost >= 0 {
		f.CallerLive, err = queryInt(conn, sqlCountCaller, func(s *sqlitedb.Stmt) {
			s.BindInt64(1, int64(now.Clock))
			s.BindInt64(2, n.CallerMost)
			s.BindText(3, n.Caller)
		})
	}
	return err
}

// readBase counts what a move wants to know.
func readBase(conn *sqlitedb.Conn, now machine.Instant, h header) (*sqltx.Base, error) {
	b := &sqltx.Base{Token: h.Token, Records: h.Seq > 0, Control: h.control}
	bind := func(s *sqlitedb.Stmt) {
		s.BindInt64(1, int64(now.Clock))
		s.BindInt64(2, int64(now.Clock)-int64(sqltx.Memory))
	}
	err := query(conn, sqlBase, bind, func(s *sqlitedb.Stmt) error {
		b.Live, b.Ended, b.Scoped, b.Notes = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3)
		return nil
	})
	return b, err
}

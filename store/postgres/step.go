package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqltx"
)

// Step implements sqltx.DB.
func (d *db) Step(ctx context.Context, n sqltx.Need, decide func(sqltx.Found) sqltx.Write) (sqltx.Done, error) {
	for {
		done, err := d.stepOnce(ctx, n, decide)
		if err == nil || !errors.Is(err, errAgain) {
			return done, err
		}
		if ctx.Err() != nil {
			return done, unavailable(context.Cause(ctx))
		}
	}
}

// errAgain says that a transaction was rolled back and has to be tried again.
var errAgain = errors.New("the transaction has to be tried again")

// transaction is a Step under way.
type transaction struct {
	*db
	pgx.Tx
	need  sqltx.Need
	found sqltx.Found
	write sqltx.Write
	done  sqltx.Done
	xact  string // its id, once it has written
}

// stepOnce is one transaction.
func (d *db) stepOnce(ctx context.Context, n sqltx.Need, decide func(sqltx.Found) sqltx.Write) (sqltx.Done, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return sqltx.Done{}, readFailure(err)
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: d.startQuery()})
	if err != nil {
		return sqltx.Done{}, readFailure(err)
	}
	t := &transaction{db: d, Tx: tx, need: n}
	if err = t.lock(ctx); err == nil {
		t.write = decide(t.found)
		t.done = sqltx.Done{Found: t.found, Now: t.found.Now}
		if t.write.IsZero() {
			_ = tx.Rollback(ctx) // an error here leaves nothing behind
			return t.done, nil
		}
		err = t.store(ctx)
	}
	if err != nil {
		rollback(ctx, tx)
		return sqltx.Done{}, stepFailure(err)
	}
	if err := tx.Commit(ctx); err != nil {
		conn.Release()
		return t.afterLostCommit(ctx, err)
	}
	return t.done, nil
}

// startQuery starts a transaction. The server ends it if this program freezes or is cut off
// in the middle, so that its locks do not outlive it for long.
func (d *db) startQuery() string {
	idle := max(10*time.Second, 2*d.opts.Timeout)
	return fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = %d", idle.Milliseconds())
}

// rollback ends a transaction that has written nothing that counts. If it cannot be
// sent, the connection is closed, which does the same.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// lock locks and reads what is needed.
func (t *transaction) lock(ctx context.Context) (err error) {
	n := t.need
	if n.Alone || n.Holder != "" {
		// The records of a force-release stand together in the history, so nobody
		// may draw a number between them.
		if _, err = t.exec(ctx, t.Tx, "lock_alone"); err != nil {
			return err
		}
	}
	if n.Control && !n.Alone {
		// Before the control row, as with Alone, or the two would wait for each other.
		if _, err = t.exec(ctx, t.Tx, "lock_shared"); err != nil {
			return err
		}
	}
	if n.Alone || n.Control {
		if _, err = t.exec(ctx, t.Tx, "lock_control"); err != nil {
			return err
		}
	}
	if n.Live {
		// Before any row lock, so that nobody who waits for it holds one.
		if _, err = t.Tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", t.args("leasehold live "+t.opts.Schema)...); err != nil {
			return err
		}
	}
	var rows []machine.Row
	switch {
	case n.Holder != "":
		rows, err = t.rows(ctx, t.Tx, "lock_holder", n.Holder)
	case n.Due > 0:
		rows, err = t.rows(ctx, t.Tx, "lock_due", n.Due)
	}
	if err == nil {
		t.found, err = t.lockRow(ctx)
	}
	t.found.Rows = rows
	if err == nil && !n.Proposed.IsZero() {
		t.found.Known, err = t.known(ctx, t.Tx, n)
	}
	if err == nil && n.Live {
		err = t.countLive(ctx)
	}
	if err == nil && n.Base {
		t.found.Base, err = t.base(ctx, t.Tx)
	}
	return err
}

// lockRow locks the row that was asked for, and reads the time.
func (t *transaction) lockRow(ctx context.Context) (f sqltx.Found, err error) {
	if t.need.Resource == "" && !t.need.ID.IsZero() {
		return t.db.found(ctx, t.Tx, "lock_id", encodeID(t.need.ID))
	}
	f, err = t.db.found(ctx, t.Tx, "lock", t.need.Resource)
	f.Row.Resource = t.need.Resource
	return f, err
}

func (t *transaction) countLive(ctx context.Context) error {
	t.found.Counted = true
	if t.need.Most >= 0 {
		if err := t.row(ctx, t.Tx, "live", t.need.Most).Scan(&t.found.Live); err != nil {
			return err
		}
	}
	if t.need.CallerMost >= 0 && t.need.Caller != "" {
		return t.row(ctx, t.Tx, "live_caller", t.need.Caller, t.need.CallerMost).Scan(&t.found.CallerLive)
	}
	return nil
}

// store writes all that was decided.
func (t *transaction) store(ctx context.Context) error {
	for _, part := range []func(context.Context) error{t.storeMove, t.storeRows, t.storeRecords, t.storeControl} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	var now time.Time
	t.done.Asked = time.Now()
	if err := t.row(ctx, t.Tx, "xact").Scan(&t.xact, &now); err != nil {
		return err
	}
	t.done.Now = instant(now)
	return nil
}

func (t *transaction) storeMove(ctx context.Context) error {
	w := &t.write
	if w.Clear > 0 {
		n, err := t.exec(ctx, t.Tx, "clear", w.Clear)
		if err != nil {
			return err
		}
		t.done.Cleared = int(n)
	}
	if w.Token > 0 {
		if _, err := t.exec(ctx, t.Tx, "raise_token", int64(w.Token)); err != nil {
			return err
		}
	}
	if w.Forget != "" {
		_, err := t.exec(ctx, t.Tx, "forget_one", w.Forget)
		return err
	}
	return nil
}

// storeRows writes the rows, and the note of a waiter.
func (t *transaction) storeRows(ctx context.Context) error {
	if t.many() {
		return t.storeMany(ctx)
	}
	w := &t.write
	for i, row := range w.Rows {
		name := "put"
		if row.Resource == t.need.Resource || row.Resource == t.found.Row.Resource {
			if name = "update"; t.found.Version == 0 {
				name = "insert"
			}
		}
		args := append(rowArguments(row, w.Grant && i == len(w.Rows)-1, w.Version), encodeLimit(w.Until), t.notify(row))
		var token, inTime int64
		var notified pgtype.Text
		err := t.row(ctx, t.Tx, name, args...).Scan(&token, &inTime, &notified)
		if errors.Is(err, pgx.ErrNoRows) {
			return errAgain // somebody inserted it meanwhile
		}
		if err != nil {
			return err
		}
		if w.Grant {
			t.done.Token = uint64(token)
		}
	}
	if w.Waiting != 0 {
		_, err := t.exec(ctx, t.Tx, "waiting", t.found.Row.Resource, encodeTime(w.Waiting))
		return err
	}
	return nil
}

// notify is the channel for those who wait for a row that is free now, or will be
// sooner than they think.
func (d *db) notify(row machine.Row) pgtype.Text {
	if row.State == leasehold.StateActive {
		return pgtype.Text{}
	}
	return encodeText(d.channel)
}

func (t *transaction) storeRecords(ctx context.Context) error {
	w := &t.write
	for i, r := range w.Records {
		if w.Grant && r.Token == 0 {
			r.Token = t.done.Token
		}
		var seq int64
		if err := t.row(ctx, t.Tx, "record", recordArguments(r, w.Kept[i])...).Scan(&seq); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) storeControl(ctx context.Context) error {
	w := &t.write
	if len(w.Settings) == 0 && !w.ResetSettings && w.Purged == 0 && w.Mark == nil {
		return nil
	}
	if w.ResetSettings {
		if _, err := t.exec(ctx, t.Tx, "reset_settings"); err != nil {
			return err
		}
	}
	for key, value := range w.Settings {
		of, number := encodeSetting(value)
		if _, err := t.exec(ctx, t.Tx, "put_setting", key, of, number); err != nil {
			return err
		}
	}
	args := []any{int64(w.Purged), nil, nil, nil, nil}
	if m := w.Mark; m != nil {
		args = []any{int64(w.Purged), string(m.State), m.ID, m.Peer, encodeTime(m.Until)}
	}
	_, err := t.exec(ctx, t.Tx, "put_control", args...)
	return err
}

// afterLostCommit finds out whether a transaction was committed whose answer was
// lost. A server that crashed may have given its id to another one, so a commit
// counts only if the row shows it too.
func (t *transaction) afterLostCommit(ctx context.Context, err error) (sqltx.Done, error) {
	if certain(err) {
		return sqltx.Done{}, stepFailure(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookFor)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		var status string
		lookErr := t.row(ctx, t.pool, "xact_status", t.xact).Scan(&status)
		switch {
		case lookErr == nil && status == "aborted":
			return sqltx.Done{}, unavailable(err)
		case lookErr == nil && status == "committed" && t.written(ctx):
			return t.done, nil
		case lookErr == nil && status != "in progress", ctx.Err() != nil:
			return sqltx.Done{}, unknown(err)
		}
		sleep.For(ctx, wait)
	}
}

// lookFor is how long the store tries to find out what happened.
const lookFor = 3 * time.Second

// written reports whether the rows have the version of this step, and are on the
// synchronous replicas if there are any: a lost answer may be that of a commit whose
// wait for them was given up.
func (t *transaction) written(ctx context.Context) bool {
	for _, row := range t.write.Rows {
		if n, err := t.exec(ctx, t.pool, "confirm", row.Resource, t.write.Version); err != nil || n != 1 {
			return false
		}
	}
	return len(t.write.Rows) > 0
}

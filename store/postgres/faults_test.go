package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqltx"
	"github.com/leasehold/leasehold/test/process"
)

// holdRow locks a resource's row in a transaction of its own until free is called.
func holdRow(t *testing.T, s *Store, resource string) (free func()) {
	t.Helper()
	tx, err := s.db.pool.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), fmt.Sprintf(`SELECT FROM %q.leases WHERE resource = $1 FOR UPDATE`, s.db.opts.Schema), resource)
	must(t, err)
	return func() { must(t, tx.Rollback(context.Background())) }
}

// blocked waits until a statement waits for a lock.
func blocked(t *testing.T, s *Store) {
	t.Helper()
	process.Eventually(t, "somebody waits for the lock", func() bool {
		var n int
		must(t, s.db.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`, s.db.opts.Schema+`"`).Scan(&n))
		return n > 0
	})
}

// The time is read when the row is locked, not before the wait for it.
func TestTimeIsReadAfterTheLock(t *testing.T) {
	s := openShared(t)
	acquire(t, s, "r", "h", time.Minute)
	free := holdRow(t, s, "r")
	found := make(chan sqltx.Found, 1)
	go func() {
		_, err := s.db.Step(t.Context(), sqltx.Need{Resource: "r"}, func(f sqltx.Found) sqltx.Write {
			found <- f
			return sqltx.Write{}
		})
		if err != nil {
			t.Errorf("Step = %v", err)
		}
	}()
	blocked(t, s)
	var released time.Time
	must(t, s.db.pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&released))
	free()
	if f := <-found; f.Now.Clock < instant(released).Clock {
		t.Errorf("the step has the time %v, want one after the lock was free at %v", f.Now.WallTime(), released)
	}
}

// The time of a read is no later than what it reads. Else a lease that is renewed
// between the two counts as ended: in a status, and when its holder renews it again.
func TestTimeIsReadBeforeTheRow(t *testing.T) {
	a, b := pair(t)
	from := `FROM "` + a.db.opts.Schema + `".lease_control c`
	stalled := strings.Replace(a.db.sql["read"], from, "FROM (SELECT pg_sleep(3)) stall, "+strings.TrimPrefix(from, "FROM "), 1)
	if stalled == a.db.sql["read"] {
		t.Fatalf("the statement has no %q", from)
	}
	a.db.sql["read"] = stalled // the server is held up after it has chosen what to read
	const ttl = 2 * time.Second
	g := acquire(t, b, "r", "h", ttl)
	renew := func(s *Store) error {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if status, err := a.Status(t.Context(), "r"); err != nil || !status.Locked() {
			t.Errorf("Status = %+v, %v; want the lease, which never ended", status.Lease, err)
		}
		if err := renew(a); err != nil {
			t.Errorf("Renew = %v, want it renewed", err)
		}
	}()
	for {
		select {
		case <-ended:
			return
		case <-time.After(200 * time.Millisecond):
			must(t, renew(b))
		}
	}
}

// A swap that waited for a row until its lease had ended writes nothing: the time
// counts that it has when it writes.
func TestSwapTooLate(t *testing.T) {
	for _, history := range []bool{false, true} {
		s := openOn(t, newPool(t, server(t).Addr), &Options{Schema: newSchema(), NoHistory: !history, Timeout: time.Minute})
		g := acquire(t, s, "r", "h", 2*time.Second)
		free := holdRow(t, s, "r")
		renewed := make(chan error, 1)
		go func() {
			_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"}) // the row is in hand
			renewed <- err
		}()
		blocked(t, s)
		time.Sleep(2100 * time.Millisecond) // the lease ends meanwhile
		free()
		if err := <-renewed; leasehold.ReasonOf(err) != leasehold.ReasonExpired {
			t.Errorf("Renew that waited until the end (history %t) = %v, want lease_expired", history, err)
		}
	}
}

// Each thing that a swap depends on keeps it from writing.
func TestSwapRaced(t *testing.T) {
	s := openShared(t)
	acquire(t, s, "r", "h", time.Minute)
	f, err := s.db.Read(t.Context(), sqltx.Need{Resource: "r"})
	must(t, err)
	good := func() sqltx.Swap {
		row := f.Row
		row.Renewals++
		return sqltx.Swap{
			Resource: "r", Before: f.Version, Control: f.Control.Version, From: f.Now.Clock,
			Write: sqltx.Write{Rows: []machine.Row{row}, Version: 77},
		}
	}
	for what, spoil := range map[string]func(*sqltx.Swap){
		"another version":   func(w *sqltx.Swap) { w.Before++ },
		"no row":            func(w *sqltx.Swap) { w.Before = 0 },
		"another control":   func(w *sqltx.Swap) { w.Control++ },
		"too early":         func(w *sqltx.Swap) { w.From += machine.Time(time.Hour) },
		"too late":          func(w *sqltx.Swap) { w.Until = f.Now.Clock },
		"an id used before": func(w *sqltx.Swap) { w.Proposed = formerID(t, s) },
		"an id in use":      func(w *sqltx.Swap) { w.Rows[0].ID = acquire(t, s, "other", "h", time.Minute).ID },
	} {
		w := good()
		spoil(&w)
		if _, err := s.db.Swap(t.Context(), w); !errors.Is(err, sqltx.ErrRaced) {
			t.Errorf("%s: Swap = %v, want ErrRaced", what, err)
		}
	}
	if _, err := s.db.Swap(t.Context(), good()); err != nil {
		t.Errorf("Swap = %v, want success", err)
	}
}

// formerID returns an id that a lease had before it was changed.
func formerID(t *testing.T, s *Store) leasehold.ID {
	t.Helper()
	g := acquire(t, s, "changed", "h", time.Minute)
	_, err := s.Change(t.Context(), leasehold.ChangeRequest{ID: g.ID, Proposed: leasehold.NewID()})
	must(t, err)
	return g.ID
}

// An id that two propose for different resources at the same time goes to one of
// them.
func TestSameIDTwice(t *testing.T) {
	a, b := pair(t)
	for i := range 20 {
		id := leasehold.NewID()
		errs := make([]error, 2)
		var both sync.WaitGroup
		for j, s := range []*Store{a, b} {
			both.Go(func() {
				_, errs[j] = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: fmt.Sprint(i, j), Holder: "h", TTL: time.Minute, ID: id})
			})
		}
		both.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case leasehold.ReasonOf(err) != leasehold.ReasonIDInUse:
				t.Errorf("Acquire = %v, want lease_id_in_use", err)
			}
		}
		if won != 1 {
			t.Errorf("%d of two leases have the same id, want 1", won)
		}
	}
}

// A reader of the history never passes over a record that is committed later: not
// while a transaction with a smaller number is open.
func TestHistoryIsDecided(t *testing.T) {
	s := openShared(t)
	acquire(t, s, "before", "h", time.Minute)
	_, err := s.db.Last(t.Context()) // from here on it knows the first
	must(t, err)
	tx, err := s.db.pool.Begin(t.Context())
	must(t, err)
	var seq int64
	must(t, s.db.row(t.Context(), tx, "record", recordArguments(leasehold.Record{
		At: time.Now(), Kind: leasehold.KindFailed, Resource: "slow", Holder: "h"}, true)...).Scan(&seq))
	acquire(t, s, "after", "h", time.Minute) // has a larger number
	records, _, err := s.db.After(t.Context(), 0, 100)
	must(t, err)
	for _, r := range records {
		if r.Seq > uint64(seq) {
			t.Errorf("record %d is shown before %d is decided", r.Seq, seq)
		}
	}
	if len(records) != 1 {
		t.Errorf("%d records are shown, want the one before the open transaction", len(records))
	}
	must(t, tx.Commit(t.Context()))
	records, _, err = s.db.After(t.Context(), 0, 100)
	if err != nil || len(records) != 3 || records[1].Resource != "slow" {
		t.Errorf("After = %+v, %v; want all three in their order", records, err)
	}
}

// A long transaction of another program holds no reader up.
func TestHistoryBesideALongTransaction(t *testing.T) {
	s := openShared(t)
	tx, err := s.db.pool.Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "SELECT pg_current_xact_id()")
	must(t, err)
	acquire(t, s, "r", "h", time.Minute)
	page, err := s.History(t.Context(), leasehold.HistoryRequest{})
	if err != nil || len(page.Records) != 1 {
		t.Errorf("History = %d records, %v; want the one", len(page.Records), err)
	}
}

// A commit whose answer is lost: the server says whether it happened.
func TestLostCommit(t *testing.T) {
	s := openShared(t)
	step := func(lose bool) *transaction {
		tx, err := s.db.pool.Begin(t.Context())
		must(t, err)
		row := machine.Row{Resource: "r", Holder: "h", ID: leasehold.NewID(), Token: 1, State: leasehold.StateActive, Ends: machine.Never, TTL: leasehold.Infinite}
		one := &transaction{db: s.db, Tx: tx, need: sqltx.Need{Resource: "r"}, write: sqltx.Write{Rows: []machine.Row{row}, Version: 5}}
		must(t, one.lock(t.Context()))
		must(t, one.store(t.Context()))
		if lose {
			must(t, tx.Rollback(t.Context()))
		} else {
			must(t, tx.Commit(t.Context()))
		}
		return one
	}
	lost := errors.New("connection reset")
	if _, err := step(true).afterLostCommit(t.Context(), lost); leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
		t.Errorf("a commit that did not happen = %v, want ErrUnavailable", err)
	}
	done := step(false)
	if _, err := done.afterLostCommit(t.Context(), lost); err != nil {
		t.Errorf("a commit that happened = %v, want success", err)
	}
	done.write.Version++ // somebody has written since
	if _, err := done.afterLostCommit(t.Context(), lost); leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("a commit that was overwritten = %v, want ErrUnknown", err)
	}
	open, err := s.db.pool.Begin(t.Context())
	must(t, err)
	under := &transaction{db: s.db, Tx: open}
	var at time.Time
	must(t, s.db.row(t.Context(), open, "xact").Scan(&under.xact, &at))
	time.AfterFunc(200*time.Millisecond, func() { _ = open.Rollback(context.Background()) })
	if _, err := under.afterLostCommit(t.Context(), lost); leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
		t.Errorf("a commit under way that then failed = %v, want ErrUnavailable", err)
	}
}

// A server that is gone is ErrUnavailable or ErrUnknown, within the timeout, and its
// return is noticed.
func TestServerIsGone(t *testing.T) {
	server := testserver.Postgres(t)
	s := openOn(t, newPool(t, server.Addr), &Options{Timeout: 2 * time.Second})
	g := acquire(t, s, "r", "h", time.Minute)
	server.Kill()
	ctx := t.Context()
	_, acquireErr := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "x", Holder: "h", TTL: time.Minute})
	_, renewErr := s.Renew(ctx, leasehold.RenewRequest{ID: g.ID})
	_, statusErr := s.Status(ctx, "r")
	_, historyErr := s.History(ctx, leasehold.HistoryRequest{})
	_, listErr := s.List(ctx, leasehold.ListRequest{})
	_, setErr := s.SetSetting(ctx, leasehold.SettingMaxLeases, 5)
	_, cleanErr := s.Cleanup(ctx)
	for what, err := range map[string]error{
		"Acquire": acquireErr, "Renew": renewErr, "Status": statusErr, "History": historyErr, "List": listErr, "SetSetting": setErr, "Cleanup": cleanErr,
	} {
		if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
			t.Errorf("%s = %v, want ErrUnavailable or ErrUnknown", what, err)
		}
		if strings.Contains(fmt.Sprint(err), testserver.PostgresPassword) || strings.Contains(fmt.Sprint(err), g.ID.Reveal()) {
			t.Errorf("%s gives a secret away", what)
		}
	}
	server.Start()
	process.Eventually(t, "it works again", func() bool {
		_, err := s.Renew(ctx, leasehold.RenewRequest{ID: g.ID})
		return err == nil
	})
}

// Errors of the server say what to do, and not what they quote of a row.
func TestErrorsQuoteNoRow(t *testing.T) {
	s := openShared(t)
	g := acquire(t, s, "r", "h", time.Minute)
	row := machine.Row{Resource: "s", Holder: "h", ID: g.ID, State: leasehold.StateActive, Ends: machine.Never}
	_, err := s.db.pool.Exec(t.Context(), s.db.sql["put"], append(rowArguments(row, false, 1), encodeLimit(0), s.db.notify(row))...)
	if err == nil || strings.Contains(fmt.Sprint(unavailable(err)), g.ID.Reveal()) {
		t.Errorf("the error of a second row with an id = %v", unavailable(err))
	}
	if text := fmt.Sprintf("%v %+v", writeFailure(err), *unavailable(err)); strings.Contains(text, g.ID.Reveal()) {
		t.Error("the id is given away")
	}
	_, err = s.db.pool.Exec(t.Context(), "SELECT nextval($1)", `"`+s.db.opts.Schema+`".nothing`)
	if text := unavailable(err).Error(); !strings.Contains(text, "was the schema dropped") {
		t.Errorf("a missing table = %q, want a hint", text)
	}
}

// The token counter ends below 2^53.
func TestTokensEnd(t *testing.T) {
	s := openShared(t)
	_, err := s.db.pool.Exec(t.Context(), "SELECT setval($1, $2::bigint)", `"`+s.db.opts.Schema+`".lease_tokens`, int64(leasehold.MaxToken-1))
	must(t, err)
	if g := acquire(t, s, "r", "h", time.Minute); g.Token != leasehold.MaxToken {
		t.Errorf("token = %d, want %d", g.Token, uint64(leasehold.MaxToken))
	}
	_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "2^53") {
		t.Errorf("Acquire with the counter at its end = %v, want ErrUnavailable", err)
	}
}

// Settings steer every server at once.
func TestSettingsOfAnotherServer(t *testing.T) {
	a, b := pair(t)
	acquire(t, b, "warm", "h", time.Minute)
	for seconds := range int64(5) {
		_, err := a.SetSetting(t.Context(), leasehold.SettingDefaultTTL, 10+seconds)
		must(t, err)
		g, err := b.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"})
		must(t, err)
		if want := time.Duration(10+seconds) * time.Second; g.TTL != want {
			t.Errorf("Acquire on the other server = ttl %v, want %v", g.TTL, want)
		}
		release(t, b, g.Lease)
	}
}

// While the mark of a move is written no other step is under way, and none that has
// not seen it commits later.
func TestMarkWaitsForSteps(t *testing.T) {
	a, b := pair(t)
	acquire(t, a, "r", "h", time.Minute)
	free := holdRow(t, a, "r") // as a step does that has read the mark
	marked := make(chan error, 1)
	go func() {
		_, err := b.db.Step(t.Context(), sqltx.Need{Alone: true}, func(sqltx.Found) sqltx.Write {
			return sqltx.Write{Mark: &sqltx.Mark{ID: "m", State: "left", Peer: "elsewhere"}}
		})
		marked <- err
	}()
	blocked(t, a)
	free()
	must(t, <-marked)
	_, err := a.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("Acquire after the mark = %v, want ErrUnavailable that says where", err)
	}
}

// LISTEN that fails is an error, and one that is cut is noticed.
func TestNotifyFails(t *testing.T) {
	s := openShared(t)
	config, err := pgx.ParseConfig("postgres://127.0.0.1:1/x?sslmode=disable")
	must(t, err)
	broken := &db{listen: config, channel: s.db.channel}
	if err := broken.Notify(t.Context(), func() {}, nil); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Notify without a server = %v, want ErrUnavailable", err)
	}
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() { ended <- s.db.Notify(t.Context(), func() { close(ready) }, nil) }()
	<-ready
	_, err = s.db.pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1", "LISTEN "+s.db.channel)
	must(t, err)
	if err := <-ended; !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Notify whose connection ends = %v, want ErrUnavailable", err)
	}
}

// A transaction ends by the server if its program stops in the middle: it must not
// keep a row, or all of them, for longer.
func TestFrozenStepIsEnded(t *testing.T) {
	s := openShared(t)
	tx, err := s.db.pool.BeginTx(t.Context(), pgx.TxOptions{BeginQuery: s.db.startQuery()})
	must(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	var idle, level string
	must(t, tx.QueryRow(t.Context(), "SELECT current_setting('idle_in_transaction_session_timeout'), current_setting('transaction_isolation')").Scan(&idle, &level))
	if idle != "10s" || level != "read committed" {
		t.Errorf("a step may be idle for %s and is %s; want 10s and read committed", idle, level)
	}
}

// The client says of a closed connection that its statement may be repeated. It says so
// too when a COMMIT was sent and the connection broke before its answer, so that nothing
// may be concluded from it: TestLinearizable found leases that "did not happen".
func TestClosedConnectionIsNotCertain(t *testing.T) {
	conn, err := newPool(t, server(t).Addr).Acquire(t.Context())
	must(t, err)
	defer conn.Release()
	must(t, conn.Conn().Close(t.Context()))
	_, err = conn.Exec(t.Context(), "COMMIT")
	if !pgconn.SafeToRetry(err) {
		t.Fatalf("COMMIT on a closed connection = %v, which the client now counts as sent: is the trap gone?", err)
	}
	if certain(err) {
		t.Error("the store takes it for certain that nothing was committed")
	}
}

package sqltx

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/calls"
)

// once returns a hook that fails the nth call of a method, from zero.
func once(method string, n int, err error) func(string) error {
	return func(called string) error {
		if called != method {
			return nil
		}
		if n--; n == -1 {
			return err
		}
		return nil
	}
}

var errLost = &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: errTest}

func open(t *testing.T, db DB) *Store {
	t.Helper()
	s := New(db, nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// quiet is a store without its background work, which would call the hooks too.
func quiet(t *testing.T, db DB, limit time.Duration) *Store {
	t.Helper()
	s := New(db, &Options{Limit: limit})
	s.calls.Stop()
	synctest.Wait()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func acquire(t *testing.T, s *Store, resource string) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), request(resource))
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

func request(resource string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute}
}

func reason(t *testing.T, what string, err error, want leasehold.Reason) {
	t.Helper()
	if got := leasehold.ReasonOf(err); got != want {
		t.Errorf("%s = %v, want %q", what, err, want)
	}
}

// kinds are what the history says of a resource.
func kinds(d *memoryDB, resource string) string {
	text := ""
	for _, r := range d.history() {
		if r.Resource == resource {
			text += string(r.Kind) + " "
		}
	}
	return text
}

// A swap whose answer is lost is found by its version, and happens once.
func TestLostSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, hook := range map[string]func(d *swappingDB){
			"it happened":    func(d *swappingDB) { d.lose = once("swap", 0, errLost) },
			"it did not":     func(d *swappingDB) { d.fail = once("swap", 0, errLost) },
			"a plain error":  func(d *swappingDB) { d.lose = once("swap", 0, errTest) },
			"a second swap":  func(d *swappingDB) { d.lose = once("swap", 1, errLost) },
			"a second fails": func(d *swappingDB) { d.fail = once("swap", 1, errLost) },
		} {
			d := newSwappingDB()
			s := quiet(t, d, 0)
			hook(d)
			acquireRelease := func() error {
				g, err := s.Acquire(t.Context(), request("r"))
				if err == nil {
					_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
				}
				return err
			}
			if err := acquireRelease(); err != nil {
				t.Errorf("%s: %v, want what happened", what, err)
			}
			if got := kinds(d.memoryDB, "r"); got != "acquired released " {
				t.Errorf("%s: the history says %q", what, got)
			}
		}
	})
}

// Others have written since a swap in doubt: nobody knows what it did.
func TestLostSwapOverwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSwappingDB()
		s := quiet(t, d, 0)
		g := acquire(t, s, "r")
		d.lose = func(method string) error {
			if method != "swap" {
				return nil
			}
			d.mu.Lock()
			row := d.rows["r"]
			row.version++
			d.rows["r"] = row
			d.mu.Unlock()
			return errLost
		}
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		reason(t, "Renew", err, leasehold.ReasonUnknown)
	})
}

// A refusal after a swap in doubt first makes sure that the swap cannot happen any
// more; where there is no row to change, it cannot.
func TestRefusalInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSwappingDB()
		s := quiet(t, d, 0)
		g := acquire(t, s, "r")
		if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
			t.Fatal(err)
		}
		version := d.rows["r"].version
		d.fail = func(method string) error {
			if method != "swap" {
				return nil
			}
			d.mu.Lock()
			d.writeControl(Write{Settings: map[string]any{leasehold.SettingMaxTTL: int64(1)}}) // so that it is refused now
			d.mu.Unlock()
			return errLost
		}
		_, err := s.Acquire(t.Context(), request("r"))
		reason(t, "Acquire", err, leasehold.ReasonInvalid)
		if d.rows["r"].version == version {
			t.Error("the row has its old version, so the swap in doubt could still happen")
		}
		d.mu.Lock()
		d.writeControl(Write{ResetSettings: true})
		d.mu.Unlock()
		_, err = s.Acquire(t.Context(), request("absent"))
		reason(t, "Acquire of what has no row", err, leasehold.ReasonUnknown)
	})
}

// Errors of the database keep their reason, or are what they must be taken for.
func TestDatabaseErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name   string
			method string
			err    error
			want   leasehold.Reason
		}{
			{"read", "read", errTest, leasehold.ReasonUnavailable},
			{"read in doubt", "read", errLost, leasehold.ReasonUnavailable},
			{"forbidden", "read", &leasehold.Error{Reason: leasehold.ReasonForbidden}, leasehold.ReasonForbidden},
			{"swap refused", "swap", &leasehold.Error{Reason: leasehold.ReasonUnavailable}, leasehold.ReasonUnavailable},
		} {
			d := newSwappingDB()
			s := quiet(t, d, 0)
			acquire(t, s, "count") // so that no step has to count
			d.fail = func(method string) error {
				if method == c.method {
					return c.err
				}
				return nil
			}
			_, err := s.Acquire(t.Context(), request("r"))
			reason(t, c.name, err, c.want)
		}
		d := newMemoryDB()
		s := quiet(t, d, 0)
		g := acquire(t, s, "r")
		d.fail = func(string) error { return errTest }
		for what, call := range every(t, s, g.Lease) {
			err := call()
			if r := leasehold.ReasonOf(err); r != leasehold.ReasonUnavailable && r != leasehold.ReasonUnknown {
				t.Errorf("%s with a broken database = %v", what, err)
			}
		}
		synctest.Wait() // what a call leaves running reads the hook
		d.fail = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d.fail = func(string) error { return context.Canceled }
		if _, err := s.Status(ctx, "r"); !errors.Is(err, context.Canceled) {
			t.Errorf("Status of a caller who left = %v, want the cause", err)
		}
		if _, err := s.SetSetting(ctx, leasehold.SettingMaxLeases, 3); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("SetSetting of a caller who left = %v, want ErrUnavailable", err)
		}
		synctest.Wait()
		d.fail = nil
		must(t, s.Close())
		if !d.closed {
			t.Error("Close does not close the database")
		}
		for what, call := range every(t, s, g.Lease) {
			reason(t, what+" after Close", call(), leasehold.ReasonUnavailable)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// every is all calls of a store, with a lease that it holds.
func every(t *testing.T, s *Store, l leasehold.Lease) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"Acquire": func() error { _, err := s.Acquire(ctx, request("other")); return err },
		"Acquire without an end of its context": func() error {
			_, err := s.Acquire(context.Background(), request("other"))
			return err
		},
		"Wait":    func() error { _, err := s.Wait(ctx, request("other")); return err },
		"Renew":   func() error { _, err := s.Renew(ctx, leasehold.RenewRequest{ID: l.ID}); return err },
		"Release": func() error { _, err := s.Release(ctx, leasehold.ReleaseRequest{ID: l.ID}); return err },
		"Break":   func() error { _, err := s.Break(ctx, leasehold.BreakRequest{Resource: l.Resource}); return err },
		"Change": func() error {
			_, err := s.Change(ctx, leasehold.ChangeRequest{ID: l.ID, Proposed: leasehold.NewID()})
			return err
		},
		"Transfer":      func() error { _, err := s.Transfer(ctx, leasehold.TransferRequest{ID: l.ID, To: "x"}); return err },
		"Status":        func() error { _, err := s.Status(ctx, l.Resource); return err },
		"Find":          func() error { _, err := s.Find(ctx, l.ID); return err },
		"List":          func() error { _, err := s.List(ctx, leasehold.ListRequest{}); return err },
		"ReleaseHolder": func() error { _, err := s.ReleaseHolder(ctx, "h", ""); return err },
		"History":       func() error { _, err := s.History(ctx, leasehold.HistoryRequest{}); return err },
		"Settings":      func() error { _, err := s.Settings(ctx); return err },
		"SetSetting":    func() error { _, err := s.SetSetting(ctx, leasehold.SettingMaxLeases, 5); return err },
		"Cleanup":       func() error { _, err := s.Cleanup(ctx); return err },
	}
}

// bothWays are databases that write by a transaction, and by a single statement.
var bothWays = map[string]func() (DB, *memoryDB){
	"step": func() (DB, *memoryDB) { d := newMemoryDB(); return d, d },
	"swap": func() (DB, *memoryDB) { d := newSwappingDB(); return d, d.memoryDB },
}

// A renewal whose commit takes until after the old end is undone: others may have
// seen the lease as expired.
func TestRenewedTooLate(t *testing.T) {
	for name, open := range bothWays {
		synctest.Test(t, func(t *testing.T) {
			db, d := open()
			s := quiet(t, db, time.Hour)
			must(t, func() error { _, err := s.SetSetting(t.Context(), leasehold.SettingAutoExpire, false); return err }())
			g := acquire(t, s, "r")
			delayed := false
			d.lose = func(method string) error {
				if (method == "step" || method == "swap") && !delayed {
					delayed = true
					time.Sleep(2 * time.Minute)
				}
				return nil
			}
			_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
			reason(t, name+": Renew", err, leasehold.ReasonExpired)
			status, err := s.Status(t.Context(), "r")
			if err != nil || status.Locked() {
				t.Errorf("%s: Status = %+v, %v; want the lease ended", name, status, err)
			}
			acquire(t, s, "r")
		})
	}
}

// A renewal that waits, for a connection or a lock, and is written before the old end is
// no late one.
func TestRenewedInTimeAfterAWait(t *testing.T) {
	for name, open := range bothWays {
		synctest.Test(t, func(t *testing.T) {
			db, d := open()
			s := quiet(t, db, time.Hour)
			g := acquire(t, s, "r")
			d.fail = func(method string) error {
				if method == "step" || method == "swap" {
					time.Sleep(40 * time.Second) // of a minute
				}
				return nil
			}
			l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
			if err != nil || l.Renewals != 1 {
				t.Errorf("%s: Renew = %+v, %v; want it renewed", name, l, err)
			}
		})
	}
}

// A late renewal whose undoing fails, and one of which nothing is left to undo.
func TestRenewedTooLateAndNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemoryDB()
		s := quiet(t, d, time.Hour)
		must(t, func() error { _, err := s.SetSetting(t.Context(), leasehold.SettingAutoExpire, false); return err }())
		g := acquire(t, s, "r")
		steps := 0
		d.fail = func(method string) error {
			if steps++; method == "step" && steps == 2 {
				return errTest
			}
			return nil
		}
		d.lose = func(method string) error {
			if steps == 1 {
				time.Sleep(2 * time.Minute)
			}
			return nil
		}
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		reason(t, "Renew", err, leasehold.ReasonUnknown)
		synctest.Wait()
		d.fail, d.lose = nil, nil
		g = acquire(t, s, "other")
		steps = 0
		d.lose = func(method string) error {
			if steps++; steps == 1 {
				d.mu.Lock()
				d.rows["other"] = memoryRow{Row: machine.Row{Resource: "other"}, version: 1}
				d.mu.Unlock()
				time.Sleep(2 * time.Minute)
			}
			return nil
		}
		_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "other"})
		reason(t, "Renew of what others have", err, leasehold.ReasonExpired)
	})
}

// A step that is decided in time and written too late is decided again.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemoryDB()
		s := quiet(t, d, time.Hour)
		must(t, func() error { _, err := s.SetSetting(t.Context(), leasehold.SettingAutoExpire, false); return err }())
		g := acquire(t, s, "r")
		d.late = func() {
			d.late = nil
			d.mu.Unlock() // time passes only while nobody waits for the lock
			time.Sleep(time.Hour)
			d.mu.Lock()
		}
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		reason(t, "Renew", err, leasehold.ReasonExpired)
	})
}

// A caller who leaves learns soon that the outcome is unknown. What was granted
// without its id is released.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSwappingDB()
		s := quiet(t, d, 0)
		acquire(t, s, "count")
		slow := true
		d.fail = func(method string) error {
			if method == "swap" && slow {
				slow = false
				time.Sleep(3 * time.Second)
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		_, err := s.Acquire(ctx, request("r"))
		reason(t, "Acquire", err, leasehold.ReasonUnknown)
		if took := time.Since(started); took != time.Second+calls.Grace {
			t.Errorf("Acquire took %v, want the context's second and the grace", took)
		}
		time.Sleep(10 * time.Second)
		if got := kinds(d.memoryDB, "r"); got != "acquired released " || d.history()[len(d.history())-1].Why != leasehold.WhyAbandoned {
			t.Errorf("the history says %q, want the grant released as abandoned", got)
		}
		synctest.Wait()
		// In time, the caller still learns what happened.
		d.fail = func(method string) error {
			if method == "swap" {
				time.Sleep(time.Second + calls.Grace/2)
			}
			return nil
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Acquire(ctx, request("s")); err != nil {
			t.Errorf("Acquire that ends just after its context = %v, want a grant", err)
		}
		synctest.Wait()
		// A change of more than one row.
		d.fail = func(method string) error {
			if method == "step" {
				time.Sleep(time.Second + calls.Grace/2)
			}
			return nil
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.SetSetting(ctx, leasehold.SettingMaxLeases, 7); err != nil {
			t.Errorf("SetSetting that ends just after its context = %v, want success", err)
		}
		synctest.Wait()
		d.fail = func(string) error { time.Sleep(3 * time.Second); return nil }
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.SetSetting(ctx, leasehold.SettingMaxLeases, 7)
		reason(t, "SetSetting", err, leasehold.ReasonUnknown)
	})
}

// An unknown outcome of an acquire without an id is cleared up too.
func TestUnknownGrantIsReleased(t *testing.T) {
	for name, ctx := range map[string]func(*testing.T) context.Context{
		"background": func(*testing.T) context.Context { return context.Background() },
		"test":       func(t *testing.T) context.Context { return t.Context() },
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newMemoryDB()
			s := quiet(t, d, 0)
			acquire(t, s, "count")
			d.lose = once("step", 0, errLost)
			_, err := s.Acquire(ctx(t), request("r"))
			reason(t, name+": Acquire", err, leasehold.ReasonUnknown)
			synctest.Wait()
			if got := kinds(d, "r"); got != "acquired released " {
				t.Errorf("%s: the history says %q, want the grant released", name, got)
			}
		})
	}
}

// An id of a lease that nobody remembers any more can be used again, before a sweep
// has deleted its row.
func TestForgottenID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSwappingDB()
		s := open(t, d)
		must(t, func() error {
			_, err := s.SetSetting(t.Context(), leasehold.SettingCleanupInterval, 86_400)
			return err
		}())
		time.Sleep(time.Minute) // for the sweep that a setting starts
		g := acquire(t, s, "old")
		time.Sleep(2 * time.Hour)
		r := request("new")
		r.ID = g.ID
		if _, err := s.Acquire(t.Context(), r); err != nil {
			t.Errorf("Acquire with a forgotten id = %v, want a grant", err)
		}
		if _, ok := d.rows["old"]; ok {
			t.Error("the old row is still there, with the same id")
		}
	})
}

// What a stranger wrote into the settings counts as not set.
func TestBadSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemoryDB()
		d.control.Settings = map[string]any{leasehold.SettingMaxTTL: "long", leasehold.SettingDefaultTTL: int64(7)}
		s := quiet(t, d, 0)
		g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"})
		if err != nil || g.TTL != 7*time.Second {
			t.Errorf("Acquire = %v, %v; want 7s", g.TTL, err)
		}
	})
}

// Many ends at the same time are recorded by a scan.
func TestManyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemoryDB()
		s := open(t, d)
		const leases = stepRows + 20
		for i := range leases {
			acquire(t, s, fmt.Sprint("r", i))
		}
		time.Sleep(61 * time.Second)
		expired := 0
		for _, r := range d.history() {
			if r.Kind == leasehold.KindExpired {
				expired++
			}
		}
		if expired != leases {
			t.Errorf("%d of %d ends are recorded", expired, leases)
		}
	})
}

// A large limit is counted now and then, a small one whenever it is nearly used up.
func TestCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemoryDB()
		s := open(t, d)
		for i := range 100 {
			acquire(t, s, fmt.Sprint("r", i))
		}
		if d.counted != 1 {
			t.Errorf("a hundred grants counted %d times, want once", d.counted)
		}
		time.Sleep(11 * time.Second)
		acquire(t, s, "later")
		if d.counted != 2 {
			t.Errorf("a grant later counted %d times in all, want twice", d.counted)
		}
		must(t, func() error { _, err := s.SetSetting(t.Context(), leasehold.SettingMaxLeases, 150); return err }())
		acquire(t, s, "small")
		acquire(t, s, "small too")
		if d.counted != 4 {
			t.Errorf("grants near a small limit counted %d times in all, want each time", d.counted)
		}
		r := room{}
		r.note("", 900_000)
		if !r.sure("", 1_000_000) {
			t.Error("a large limit that was just counted is not sure")
		}
		time.Sleep(2 * time.Second)
		if r.sure("", 1_000_000) || !r.sure("", 1_000_000) {
			t.Error("of two grants, the first is to count a large limit, and the second to go by the last count")
		}
	})
}

// Notices that fail are tried again; waiters look by themselves meanwhile.
func TestNoticesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSwappingDB()
		a, b := open(t, d), open(t, d)
		g := acquire(t, a, "r")
		tried := 0
		d.fail = func(method string) error {
			if method == "notify" {
				if tried++; tried < 3 {
					return errTest
				}
			}
			return nil
		}
		var got leasehold.Grant
		var err error
		done := make(chan struct{})
		go func() {
			got, err = b.Wait(t.Context(), request("r"))
			close(done)
		}()
		time.Sleep(5 * time.Second)
		if _, err := a.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the waiter is not woken by the notice")
		}
		<-done
		if err != nil || got.Token <= g.Token {
			t.Errorf("Wait = token %d, %v; want one after %d", got.Token, err, g.Token)
		}
	})
}

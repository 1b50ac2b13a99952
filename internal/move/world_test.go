package move_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is the stores, and what clients were told by them.
type world struct {
	t      tester
	stores []*fake
	held   map[string]promise // by resource
	last   map[string]uint64  // the last token of each resource
	n      int
}

// promise is a lease as its holder knows it: it lasts at least until ends.
type promise struct {
	row  machine.Row
	ends time.Time // zero: none
}

func (p promise) live() bool { return p.ends.IsZero() || time.Now().Before(p.ends) }

func newWorld(t tester, stores ...*fake) *world {
	return &world{t: t, stores: stores, held: map[string]promise{}, last: map[string]uint64{}}
}

// twoStores is a source with leases of all kinds and an empty target.
func twoStores(t tester) (w *world, source, target *fake) {
	source, target = newFake("source"), newFake("target")
	w = newWorld(t, source, target)
	source.settings["max_renewals"] = int64(7)
	for _, ttl := range []time.Duration{leasehold.Infinite, time.Hour, 10 * time.Minute, 2 * time.Second, time.Minute} {
		w.n++
		w.acquire(source, fmt.Sprintf("r%d", w.n), ttl)
	}
	w.release(source, "r5")
	return w, source, target
}

// used are the stores that have a part in this: not those that nobody has touched.
func (w *world) used() (used []*fake) {
	for _, f := range w.stores {
		if f.id != "" || f.token > 0 {
			used = append(used, f)
		}
	}
	return used
}

func (w *world) promised(row machine.Row) {
	p := promise{row: row}
	if row.Ends != machine.Never {
		p.ends = time.Now().Add(row.TTL)
	}
	w.held[row.Resource] = p
}

func (w *world) acquire(f *fake, resource string, ttl time.Duration) {
	w.t.Helper()
	w.n++
	row, err := f.acquire(resource, fmt.Sprintf("h%d", w.n), ttl)
	if err != nil {
		return
	}
	if p, ok := w.held[resource]; ok && p.live() {
		w.t.Fatalf("%s grants %s to %s, which %s holds", f.name, resource, row.Holder, p.row.Holder)
	}
	if row.Token <= w.last[resource] {
		w.t.Fatalf("%s grants %s with token %d after %d", f.name, resource, row.Token, w.last[resource])
	}
	w.last[resource] = row.Token
	w.promised(row)
}

func (w *world) renew(f *fake, resource string) {
	w.t.Helper()
	p, ok := w.held[resource]
	if !ok {
		return
	}
	row, err := f.renew(p.row)
	switch {
	case err == nil:
		w.promised(row)
	case errors.Is(err, leasehold.ErrLost) && p.live():
		w.t.Fatalf("%s has lost the lease on %s of %s", f.name, resource, p.row.Holder)
	}
}

func (w *world) release(f *fake, resource string) {
	p, ok := w.held[resource]
	if ok && f.release(p.row) == nil {
		delete(w.held, resource)
	}
}

// operate does each operation on each store once.
func (w *world) operate() {
	w.t.Helper()
	for _, f := range w.used() {
		w.n++
		w.acquire(f, fmt.Sprintf("r%d", w.n), time.Minute)
		w.acquire(f, "r5", 5*time.Second)
		w.renew(f, "r2")
		w.release(f, "r3")
		w.acquire(f, "r3", time.Hour)
	}
}

// check says that never more than one store grants.
func (w *world) check() {
	w.t.Helper()
	var granting []string
	for _, f := range w.used() {
		if f.grants() {
			granting = append(granting, f.name)
		}
	}
	if len(granting) > 1 {
		w.t.Fatalf("%v grant at the same time", granting)
	}
}

// checkMoved says that the leases are where they should be, and nowhere else, at most
// longer by late.
func (w *world) checkMoved(from, to *fake, late time.Duration) {
	w.t.Helper()
	if from.grants() || !to.grants() {
		w.t.Fatalf("%s grants: %v, %s grants: %v; want only the second", from.name, from.grants(), to.name, to.grants())
	}
	if len(from.rows) > 0 {
		w.t.Fatalf("%s still has %d leases", from.name, len(from.rows))
	}
	for resource, p := range w.held {
		row := to.rows[resource]
		if !p.live() {
			continue
		}
		ends := row.Ends
		row.Ends = p.row.Ends
		if diff := cmp.Diff(p.row, row); diff != "" {
			w.t.Fatalf("the lease on %s is another one (-promised +moved):\n%s", resource, diff)
		}
		if p.ends.IsZero() {
			if ends != machine.Never {
				w.t.Fatalf("the lease on %s ends, and had none", resource)
			}
			continue
		}
		if shift := time.Duration(int64(ends) - p.ends.UnixNano()); shift < 0 || shift > late {
			w.t.Fatalf("the lease on %s ends %v later than promised; want 0 to %v", resource, shift, late)
		}
	}
	if diff := cmp.Diff(w.stores[0].settings, to.settings); diff != "" {
		w.t.Fatalf("settings (-source +target):\n%s", diff)
	}
}

// faults decides about each call that a mover makes of either store. It returns how
// the call ends: normally, as if it had not been made, or with its answer lost.
type faults func() (before, after error)

// faulty is a store as a mover sees it.
type faulty struct {
	f     *fake
	fault faults
}

// errKilled ends the mover where it stands, as kill -9 does.
var errKilled = errors.New("killed")

func (s faulty) call(body func() error) error {
	before, after := s.fault()
	if before != nil {
		return raise(before)
	}
	err := body()
	if after != nil {
		return raise(after)
	}
	return err
}

func raise(err error) error {
	if errors.Is(err, errKilled) {
		runtime.Goexit()
	}
	return err
}

func (s faulty) MoveMark(ctx context.Context) (m move.Mark, err error) {
	err = s.call(func() error { m, err = s.f.MoveMark(ctx); return err })
	return m, err
}

func (s faulty) SwapMoveMark(ctx context.Context, old, next move.Mark) error {
	return s.call(func() error { return s.f.SwapMoveMark(ctx, old, next) })
}

func (s faulty) KeepsNotes() bool { return s.f.KeepsNotes() }

func (s faulty) InUse(ctx context.Context) (why string, err error) {
	err = s.call(func() error { why, err = s.f.InUse(ctx); return err })
	return why, err
}

func (s faulty) MoveSummary(ctx context.Context) (m move.Summary, err error) {
	err = s.call(func() error { m, err = s.f.MoveSummary(ctx); return err })
	return m, err
}

func (s faulty) Export(ctx context.Context, after string, n int) (l []move.Lease, err error) {
	err = s.call(func() error { l, err = s.f.Export(ctx, after, n); return err })
	return l, err
}

func (s faulty) Clear(ctx context.Context, m move.Mark) (more bool, err error) {
	err = s.call(func() error { more, err = s.f.Clear(ctx, m); return err })
	return more, err
}

func (s faulty) Import(ctx context.Context, m move.Mark, l []move.Lease) error {
	return s.call(func() error { return s.f.Import(ctx, m, l) })
}

func (s faulty) ImportBase(ctx context.Context, m move.Mark, token uint64, settings map[string]any) error {
	return s.call(func() error { return s.f.ImportBase(ctx, m, token, settings) })
}

// options of a move with few leases in a step, so that there are many steps.
func options(from, to *fake) move.Options {
	return move.Options{From: from.name, To: to.name, Batch: 2}
}

// runWith runs a mover whose calls meet faults, and returns its error; errKilled if
// it was.
func runWith(from, to *fake, fault faults) error {
	err := errKilled
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, got := move.Run(context.Background(), faulty{from, fault}, faulty{to, fault}, options(from, to))
		err = got
	}()
	<-done
	return err
}

func run(t tester, from, to *fake) move.Result {
	t.Helper()
	result, err := move.Run(context.Background(), from, to, options(from, to))
	if err != nil {
		t.Fatalf("Run(%s, %s) = %v", from.name, to.name, err)
	}
	return result
}

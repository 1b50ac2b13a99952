package chaos_test

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// disk is a journal whose content outlives the engine.
type disk struct {
	engine *local.Engine // that runs on it

	mu    sync.Mutex
	state local.JournalState
	rows  map[string]machine.Row
}

func (d *disk) Load(_ context.Context, each func(machine.Row) error) (local.JournalState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.rows)) {
		if err := each(d.rows[name]); err != nil {
			return local.JournalState{}, err
		}
	}
	return d.state, nil
}

func (d *disk) Commit(b *local.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range b.Rows {
		if d.rows[c.Resource] = c.Row; c.Gone {
			delete(d.rows, c.Resource)
		}
	}
	d.state.Counters = b.Counters
	return nil
}

func (*disk) History(context.Context, local.HistoryQuery) ([]leasehold.Record, error) {
	return nil, nil
}
func (*disk) PurgePoint(context.Context, time.Time, int64) (uint64, int, error) { return 0, 0, nil }
func (*disk) Close() error                                                      { return nil }

// boot starts an engine on the disk.
func (d *disk) boot(t *testing.T) *local.Engine {
	t.Helper()
	e, err := local.Open(t.Context(), d, nil)
	if err != nil {
		t.Fatalf("Open(…) = %v, want nil", err)
	}
	t.Cleanup(func() { e.Close() })
	d.engine = e
	return e
}

// A store that restarts on its data is an outage and nothing more: a short one
// is not noticed, a long one is a loss at the line. The lease ends when it said
// it would, because time passes while the store is down.
func TestRestartOfTheStore(t *testing.T) {
	tests := []struct {
		name string
		down time.Duration
		lost bool
	}{
		{"at once", 0, false},
		{"soon", 5 * time.Second, false},
		{"before the line", line - interval - time.Second, false},
		{"after the line", line - interval + time.Second, true},
		{"after the ttl", 3 * ttl, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{rows: map[string]machine.Row{}}
				inner := d.boot(t)
				s := chaos.Wrap(inner, nil)
				m, log := manage(t, s, leasehold.Options{})
				h := hold(t, m, "r")
				start, end := time.Now(), endOf(h)
				time.Sleep(interval - time.Millisecond) // just before a renewal
				inner = restart(t, s, d, tt.down)
				next := rival(t, inner, "r")
				time.Sleep(3 * ttl)
				if !tt.lost {
					wantHeld(t, h)
					if st, err := inner.Status(t.Context(), "r"); err != nil || !st.Check(h.Token()) {
						t.Errorf("Status(r) after the restart = %+v, %v, want the lease with token %d", st.Lease, err, h.Token())
					}
					return
				}
				wantLost(t, h, leasehold.ReasonExpired)
				wantOneLoss(t, log, "r", leasehold.ReasonExpired)
				if got := end.since(start); got != line {
					t.Errorf("the context ended after %v, want %v", got, line)
				}
				want := max(ttl, interval-time.Millisecond+tt.down)
				if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
					want = ttl + tt.down // without a boot clock no time passes while it is down
				}
				if got := next.since(start); got != want {
					t.Errorf("the rival got the resource after %v, want %v", got, want)
				}
			})
		})
	}
}

// restart stops the engine behind the wrapper and starts another on the same
// disk.
func restart(t *testing.T, s *chaos.Store, d *disk, down time.Duration) *local.Engine {
	t.Helper()
	s.SetDown(true)
	synctest.Wait() // those who were cut off have left the store
	if err := d.engine.Close(); err != nil {
		t.Fatalf("Close() = %v, want nil", err)
	}
	time.Sleep(down)
	s.Replace(d.boot(t))
	s.SetDown(false)
	return d.engine
}

// A store that comes back without its data does not know the lease: that is a
// definitive answer, and a loss at once.
func TestRestartWithoutItsData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, first := faulty(t, nil)
		m, log := manage(t, s, leasehold.Options{})
		h := hold(t, m, "r")
		start, end := time.Now(), endOf(h)
		time.Sleep(10 * time.Second)
		s.Replace(memory.New())
		first.Close()
		time.Sleep(ttl)
		wantLost(t, h, leasehold.ReasonNotFound)
		wantOneLoss(t, log, "r", leasehold.ReasonNotFound)
		if got := end.since(start); got != interval {
			t.Errorf("the context ended after %v, want %v, at the first answer", got, interval)
		}
	})
}

// Waiters find their way into the queue of the restarted store.
func TestRestartUnderWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{rows: map[string]machine.Row{}}
		inner := d.boot(t)
		s := chaos.Wrap(inner, nil)
		first := mustAcquire(t, inner, leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Hour})
		m, _ := manage(t, s, leasehold.Options{})
		got := make(chan *leasehold.Held)
		go func() {
			h, _ := m.Acquire(t.Context(), "r")
			got <- h
		}()
		time.Sleep(10 * time.Second)
		inner = restart(t, s, d, time.Minute)
		time.Sleep(time.Minute)
		if _, err := inner.Release(t.Context(), leasehold.ReleaseRequest{ID: first.ID}); err != nil {
			t.Fatalf("Release(r) = %v, want nil", err)
		}
		released := time.Now()
		h := <-got
		if h == nil {
			t.Fatal("Acquire(r) failed, want it to outlast a restart")
		}
		wantHeld(t, h)
		if took := time.Since(released); took != 0 {
			t.Errorf("Acquire(r) took %v from the release, want it to stand in the new queue", took)
		}
	})
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/storetest"
)

// fault is a way in which a commit can fail.
type fault string

const (
	before fault = "before anything is written"
	during fault = "half-way, and rolled back"
	beyond fault = "after all was written"
)

// faulty is a journal whose commits fail on purpose.
type faulty struct {
	*journal
	fault fault

	mu      sync.Mutex
	fails   func(n int) bool // whether the n-th commit fails
	commits int
	failed  int
	down    bool // until the next Load
}

var errFault = errors.New("the disk said no")

func (f *faulty) Commit(b *local.Batch) error {
	f.mu.Lock()
	f.commits++
	fail := f.fails(f.commits)
	if f.down {
		panic("Commit after a failed Commit, without a Load between them")
	}
	if fail {
		f.failed++
		f.down = true
	}
	f.mu.Unlock()
	if !fail {
		return f.journal.Commit(b)
	}
	switch f.fault {
	case during:
		torn := *b
		torn.Extras = append(slices.Clone(b.Extras), engine.Statement{SQL: "INSERT INTO lease_counters (one) VALUES (2)"})
		return f.journal.Commit(&torn)
	case beyond:
		if err := f.journal.Commit(b); err != nil {
			return err
		}
	}
	return errFault
}

func (f *faulty) Load(ctx context.Context, each func(machine.Row) error) (local.JournalState, error) {
	f.mu.Lock()
	f.down = false
	f.mu.Unlock()
	return f.journal.Load(ctx, each)
}

func (f *faulty) failures() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// newFaulty starts an engine on a faulty journal.
func newFaulty(t *testing.T, path string, kind fault, fails func(n int) bool) (*local.Engine, *faulty) {
	t.Helper()
	j, err := openJournal(t.Context(), path, Options{Durability: DurabilityNormal})
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{journal: j, fault: kind, fails: fails}
	e, err := local.Open(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, f
}

// TestCommitFails lets the n-th commit fail, for each n, in each way, while
// many clients use the store. Their answers must still be consistent, the engine
// goes on, and the file agrees with it.
func TestCommitFails(t *testing.T) {
	const most = 10
	for _, kind := range []fault{before, during, beyond} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			calls, failures := 0, 0
			for n := 1; n <= most; n++ {
				c, f := failNth(t, kind, n)
				calls, failures = calls+c, failures+f
			}
			t.Logf("%d calls, %d failed commits", calls, failures)
		})
	}
}

func failNth(t *testing.T, kind fault, n int) (calls, failures int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leases.db")
	e, f := newFaulty(t, path, kind, func(i int) bool { return i == n || i == n+5 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	load := &storetest.LoadOptions{Workers: 6, Calls: 25, Resources: 2, Seed: uint64(n), Waiting: true, Context: ctx}
	recording := storetest.Hammer(t, e, load)
	if ctx.Err() != nil {
		t.Fatalf("commit %d: somebody was still waiting after a minute", n)
	}
	storetest.CheckHistory(t, recording)
	if f.failures() == 0 {
		t.Errorf("commit %d: no commit failed in %d", n, f.commits)
	}
	checkGoesOn(t, e, fmt.Sprintf("after failure %d", n))
	told := storetest.ReadHistory(t, e)
	storetest.CheckRecords(t, told)
	if err := e.Close(); err != nil && f.failures() == 0 {
		t.Errorf("Close() = %v", err)
	}
	s := newStore(t, path, nil)
	defer s.Close()
	w := newChecker()
	w.checkHistory(t, s)
	w.checkOrphans(t, w.listAll(t, s))
	if int(w.lastSeq) < len(told) {
		t.Errorf("the file has %d records, the engine told of %d", w.lastSeq, len(told))
	}
	return recording.Len(), f.failures()
}

// checkGoesOn: a client that retries gets its lease.
func checkGoesOn(t *testing.T, s leasehold.Store, resource string) {
	t.Helper()
	r := leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour, ID: leasehold.NewID()}
	waitFor(t, func() bool { _, err := s.Acquire(t.Context(), r); return err == nil })
}

// trigger makes one commit fail: the next one after it is pulled.
type trigger struct{ pulled atomic.Bool }

func (g *trigger) pull()          { g.pulled.Store(true) }
func (g *trigger) fails(int) bool { return g.pulled.Swap(false) }

// wait lets a client wait in the background.
func wait(t *testing.T, e *local.Engine, r leasehold.AcquireRequest) (<-chan leasehold.Grant, <-chan error) {
	granted, failed := make(chan leasehold.Grant, 1), make(chan error, 1)
	go func() {
		g, err := e.Wait(t.Context(), r)
		if err != nil {
			failed <- err
		} else {
			granted <- g
		}
	}()
	return granted, failed
}

// TestWaiterSurvivesAFailedCommit: the commit that would have granted a waiter
// the lease fails. The waiter keeps its position, and gets the lease when the
// release is repeated.
func TestWaiterSurvivesAFailedCommit(t *testing.T) {
	for _, kind := range []fault{before, during} {
		t.Run(string(kind), func(t *testing.T) {
			var fault trigger
			e, f := newFaulty(t, filepath.Join(t.TempDir(), "leases.db"), kind, fault.fails)
			held := mustAcquire(t, e, "r")
			granted, failed := wait(t, e, leasehold.AcquireRequest{Resource: "r", Holder: "next", TTL: time.Hour, Timeout: time.Minute})
			waitFor(t, func() bool { return waiting(t, e, "r") == 1 })
			fault.pull()
			_, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: held.ID})
			if !errors.Is(err, leasehold.ErrUnavailable) || f.failures() != 1 {
				t.Errorf("Release() = %v with %d failures, want ErrUnavailable", err, f.failures())
			}
			waitFor(t, func() bool { return waiting(t, e, "r") == 1 })
			if _, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: held.ID}); err != nil {
				t.Fatalf("Release() once more = %v", err)
			}
			select {
			case g := <-granted:
				if g.Token <= held.Token+1 {
					t.Errorf("Wait() = token %d, want one beyond the void grant's %d", g.Token, held.Token+1)
				}
			case err := <-failed:
				t.Errorf("Wait() = %v", err)
			}
		})
	}
}

// TestSupersededIsAnswered: a superseded request is answered even if the commit
// that it waits for fails.
func TestSupersededIsAnswered(t *testing.T) {
	for _, kind := range []fault{before, during, beyond} {
		t.Run(string(kind), func(t *testing.T) {
			var fault trigger
			e, _ := newFaulty(t, filepath.Join(t.TempDir(), "leases.db"), kind, fault.fails)
			mustAcquire(t, e, "r")
			r := leasehold.AcquireRequest{Resource: "r", Holder: "next", ID: leasehold.NewID(), TTL: time.Hour, Timeout: time.Second}
			_, first := wait(t, e, r)
			waitFor(t, func() bool { return waiting(t, e, "r") == 1 })
			fault.pull()
			_, second := wait(t, e, r)
			for name, failed := range map[string]<-chan error{"first": first, "second": second} {
				select {
				case err := <-failed:
					if err == nil {
						t.Errorf("the %s Wait() = a grant", name)
					}
				case <-time.After(5 * time.Second): // their own timeout is a second
					t.Errorf("the %s Wait() never ended", name)
				}
			}
		})
	}
}

// waiting counts the waiters, or answers -1 while the engine is not available.
func waiting(t *testing.T, e *local.Engine, resource string) int {
	status, err := e.Status(t.Context(), resource)
	if err != nil {
		return -1
	}
	return len(status.Waiters)
}

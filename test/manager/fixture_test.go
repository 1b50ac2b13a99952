package manager_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
)

// engine is what the tests use of the embedded engine. It has no queue here, so
// that each hook sees every request.
type engine interface {
	leasehold.Store
	leasehold.Breaker
}

// hookedStore is the embedded engine with failures that a test scripts.
type hookedStore struct {
	engine

	mu     sync.Mutex
	before hook
	calls  map[string]int
}

// hook runs before a request. Its error is the answer, and nothing happens.
type hook func(ctx context.Context, op, resource string) error

func newStore(t testing.TB) *hookedStore {
	s := &hookedStore{engine: memory.New(), calls: map[string]int{}}
	t.Cleanup(func() { s.engine.Close() })
	return s
}

// setHook replaces the hook while the store is in use.
func (s *hookedStore) setHook(before hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// count returns how often an operation was requested.
func (s *hookedStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

func (s *hookedStore) runHook(ctx context.Context, op, resource string) error {
	s.mu.Lock()
	s.calls[op]++
	before := s.before
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx, op, resource)
}

func (s *hookedStore) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	if err := s.runHook(ctx, "renew", r.Resource); err != nil {
		return leasehold.Lease{}, err
	}
	return s.engine.Renew(ctx, r)
}

func (s *hookedStore) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	if err := s.runHook(ctx, "status", resource); err != nil {
		return leasehold.Status{}, err
	}
	return s.engine.Status(ctx, resource)
}

// failRenewals answers every renewal with the error.
func failRenewals(err error) hook {
	return func(_ context.Context, op, _ string) error {
		if op == "renew" {
			return err
		}
		return nil
	}
}

// newManager returns a Manager that the test's end closes.
func newManager(t testing.TB, s leasehold.Store, o *leasehold.Options) *leasehold.Manager {
	t.Helper()
	m, err := leasehold.NewManager(s, o)
	if err != nil {
		t.Fatalf("NewManager(%+v) = %v", o, err)
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

func mustTry(t testing.TB, m *leasehold.Manager, resource string, options ...leasehold.AcquireOptions) *leasehold.Held {
	t.Helper()
	h, err := m.TryAcquire(context.Background(), resource, options...)
	if err != nil {
		t.Fatalf("TryAcquire(%q) = %v", resource, err)
	}
	return h
}

// wantHeld checks a lease and its context.
func wantHeld(t testing.TB, h *leasehold.Held) {
	t.Helper()
	if err := errors.Join(h.Err(), context.Cause(h.Context())); err != nil {
		t.Errorf("the lease on %q is over: %v, want it held", h.Resource(), err)
	}
}

// wantLost checks that a lease is lost and why.
func wantLost(t testing.TB, h *leasehold.Held, reason leasehold.Reason) {
	t.Helper()
	for name, err := range map[string]error{"Err()": h.Err(), "Cause(Context())": context.Cause(h.Context())} {
		if !errors.Is(err, leasehold.ErrLost) || leasehold.ReasonOf(err) != reason {
			t.Errorf("%s = %v, want ErrLost by %q", name, err, reason)
		}
	}
}

// recorder keeps the events of a Manager.
type recorder struct {
	mu     sync.Mutex
	events []leasehold.Event
}

// observe keeps the event, unless it says that all is as it should be.
func (r *recorder) observe(e leasehold.Event) {
	switch e.(type) {
	case leasehold.Acquired, leasehold.SafetyLineNear:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// all returns the events so far, and their types' names.
func (r *recorder) all() (events []leasehold.Event, kinds []string) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		kinds = append(kinds, fmt.Sprintf("%T", e)[len("leasehold."):])
	}
	return append(events, r.events...), kinds
}

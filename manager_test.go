package leasehold

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// newManager returns a Manager that the test's end closes.
func newManager(t testing.TB, s Store, o *Options) *Manager {
	t.Helper()
	m, err := NewManager(s, o)
	if err != nil {
		t.Fatalf("NewManager(%+v) = %v", o, err)
	}
	t.Cleanup(func() { m.Close(ended()) })
	return m
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func mustTry(t testing.TB, m *Manager, resource string, options ...AcquireOptions) *Held {
	t.Helper()
	h, err := m.TryAcquire(context.Background(), resource, options...)
	if err != nil {
		t.Fatalf("TryAcquire(%q) = %v", resource, err)
	}
	return h
}

// wantErr checks an error against the sentinels that it must match.
func wantErr(t testing.TB, what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%s = %v, want an error that matches %v", what, err, target)
		}
	}
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("%s = %T, want an *Error inside", what, err)
	}
}

// wantHeld checks a lease and its context.
func wantHeld(t testing.TB, h *Held) {
	t.Helper()
	if err := h.Err(); err != nil {
		t.Errorf("Err() = %v at %v, want nil", err, h.r.clock.now())
	}
	if err := context.Cause(h.Context()); err != nil {
		t.Errorf("Context() ended with %v at %v, want it alive", err, h.r.clock.now())
	}
}

// wantLost checks that a lease is lost and why.
func wantLost(t testing.TB, h *Held, reason Reason) {
	t.Helper()
	for name, err := range map[string]error{"Err()": h.Err(), "Cause(Context())": context.Cause(h.Context())} {
		wantErr(t, name, err, ErrLost)
		if got := ReasonOf(err); got != reason {
			t.Errorf("%s = %v, reason %q, want %q", name, err, got, reason)
		}
	}
}

// recorder keeps the events of a Manager.
type recorder struct {
	mu     sync.Mutex
	events []Event
}

// observe keeps the event, unless it is one of those that have a test of their own
// and are noise in the others.
func (r *recorder) observe(e Event) {
	switch e.(type) {
	case Acquired, SafetyLineNear, ClockJumped:
		return
	}
	r.keep(e)
}

func (r *recorder) keep(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) all() []Event {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

// kinds returns the names of the events so far, in order.
func (r *recorder) kinds() []string {
	var names []string
	for _, e := range r.all() {
		names = append(names, fmt.Sprintf("%T", e)[len("leasehold."):])
	}
	return names
}

func TestTryAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{Holder: "ann", Metadata: map[string]string{"team": "billing", "host": "a"}})
		start := time.Now()
		h := mustTry(t, m, "invoices", AcquireOptions{Metadata: map[string]string{"host": "b"}})
		row := s.state("invoices")
		if h.Resource() != "invoices" || h.Holder() != "ann" || m.Holder() != "ann" || h.ID() != row.ID || h.Token() != row.Token {
			t.Errorf("TryAcquire = %q %q token %d, want the store's lease %+v", h.Resource(), h.Holder(), h.Token(), row)
		}
		if !h.AcquiredAt().Equal(start) || !h.ExpiresAt().Equal(start.Add(time.Minute)) || h.Renewals() != 0 {
			t.Errorf("acquired %v, expires %v, renewals %d, want %v, a minute more, 0", h.AcquiredAt(), h.ExpiresAt(), h.Renewals(), start)
		}
		if diff := cmp.Diff(map[string]string{"team": "billing", "host": "b"}, h.Metadata()); diff != "" {
			t.Errorf("Metadata() -want +got:\n%s", diff)
		}
		wantHeld(t, h)

		_, err := newManager(t, s, nil).TryAcquire(t.Context(), "invoices")
		wantErr(t, "TryAcquire of a held resource", err, ErrHeld)
		var e *Error
		if errors.As(err, &e); e.Current == nil || e.Current.Holder != "ann" || e.Current.Token != h.Token() || !e.Current.ID.IsZero() {
			t.Errorf("TryAcquire = %v, want ann and her token as the current holder, and no id", err)
		}
		if _, err := m.TryAcquire(t.Context(), "invoices"); !errors.Is(err, ErrHeld) {
			t.Errorf("TryAcquire by the holder itself = %v, want ErrHeld: there is one lease, not two", err)
		}
	})
}

func TestTryAcquireRefusesBadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		tooMany := MaxMaxRenewals + 1
		for name, call := range map[string]func() (*Held, error){
			"an empty resource":   func() (*Held, error) { return m.TryAcquire(t.Context(), "") },
			"a control character": func() (*Held, error) { return m.TryAcquire(t.Context(), "a\x00") },
			"two options":         func() (*Held, error) { return m.TryAcquire(t.Context(), "a", AcquireOptions{}, AcquireOptions{}) },
			"a short ttl":         func() (*Held, error) { return m.TryAcquire(t.Context(), "a", AcquireOptions{TTL: time.Millisecond}) },
			"a negative timeout":  func() (*Held, error) { return m.Acquire(t.Context(), "a", AcquireOptions{Timeout: -5}) },
			"a huge priority":     func() (*Held, error) { return m.Acquire(t.Context(), "a", AcquireOptions{Priority: 101}) },
			"too many renewals":   func() (*Held, error) { return m.Acquire(t.Context(), "a", AcquireOptions{MaxRenewals: &tooMany}) },
			"a strange pair": func() (*Held, error) {
				return m.Acquire(t.Context(), "a", AcquireOptions{Metadata: map[string]string{"ä": ""}})
			},
			"Do without resource":  func() (*Held, error) { return nil, m.Do(t.Context(), "", nil) },
			"Lead without resouce": func() (*Held, error) { return nil, m.Lead(t.Context(), "", nil) },
		} {
			h, err := call()
			if h != nil {
				t.Errorf("%s: got a lease", name)
			}
			wantErr(t, name, err, ErrInvalid)
		}
		if n := s.count("acquire"); n != 0 {
			t.Errorf("the store got %d requests, want 0", n)
		}
		if _, err := m.TryAcquire(ended(), "a"); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrTimeout) {
			t.Errorf("TryAcquire with an ended context = %v, want both causes", err)
		}
	})
}

func TestHeldLeasesNeedNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		mustTry(t, m, "the first")
		synctest.Wait()
		before := runtime.NumGoroutine()
		var held []*Held
		for i := range 1000 {
			h := mustTry(t, m, fmt.Sprint("resource ", i))
			h.Context()
			held = append(held, h)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+64 { // the runtime counts its spare ones in batches
			t.Errorf("%d goroutines with 1,001 leases, %d with one", after, before)
		}
		for _, h := range held {
			wantHeld(t, h)
			h.Release(t.Context())
		}
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+64 || m.held.Len() != 1 {
			t.Errorf("%d goroutines, %d leases after the release, want %d and 1", after, m.held.Len(), before)
		}
	})
}

// TestNoGoroutineOutlivesClose runs in real time, where goleak sees everything.
func TestNoGoroutineOutlivesClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newFakeStore()
	var events atomic.Int32
	m, err := NewManager(s, &Options{Observe: func(Event) { events.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	mustTry(t, m, "a").Context()
	if err := mustTry(t, m, "b").Renew(t.Context()); err != nil {
		t.Errorf("Renew = %v", err)
	}
	if err := m.Do(t.Context(), "c", func(context.Context, *Held) error { return nil }); err != nil {
		t.Errorf("Do = %v", err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Errorf("Close = %v", err)
	}
	if events.Load() != 7 { // three grants, one renewal, three releases
		t.Errorf("%d events before Close returned, want 7", events.Load())
	}
}

// acceptingStore grants and renews everything and stores nothing: the benchmark
// measures the Manager.
type acceptingStore struct {
	Store
	token, renewals atomic.Uint64
}

func (s *acceptingStore) Acquire(_ context.Context, r AcquireRequest) (Grant, error) {
	return Grant{Lease: Lease{ID: r.ID, Resource: r.Resource, Holder: r.Holder, Token: s.token.Add(1), TTL: r.TTL, Remaining: r.TTL}}, nil
}

func (s *acceptingStore) Renew(_ context.Context, r RenewRequest) (Lease, error) {
	s.renewals.Add(1)
	return Lease{ID: r.ID, Resource: r.Resource, Token: r.Token, TTL: time.Hour, Remaining: time.Hour}, nil
}

func (s *acceptingStore) Release(context.Context, ReleaseRequest) (Lease, error) { return Lease{}, nil }

// BenchmarkManager100k holds 100,000 leases. One operation is one renewal of all
// of them by the one renewer; a suspended machine makes them due at once.
func BenchmarkManager100k(b *testing.B) {
	const leases = 100_000
	host := newFakeHost(b)
	s := &acceptingStore{}
	names := make([]string, leases)
	for i := range names {
		names[i] = fmt.Sprint("prod:eu:acme:worker:", i)
	}
	m := newManager(b, s, &Options{TTL: time.Hour})
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	held := make([]*Held, leases)
	for i := range held {
		held[i] = mustTry(b, m, names[i])
	}
	bytes := float64(heapInUse()-heap) / leases
	perLease := float64(runtime.NumGoroutine()-goroutines) / leases
	b.ResetTimer()
	for b.Loop() {
		host.suspend(41 * time.Minute)
		select { // do not measure how late it wakes
		case m.wake <- struct{}{}:
		default:
		}
		for busy(m) {
			time.Sleep(time.Millisecond) // real time: a benchmark has no bubble
		}
	}
	b.StopTimer()
	if got, want := s.renewals.Load(), uint64(b.N*leases); got < want {
		b.Errorf("%d renewals, want %d", got, want)
	}
	b.ReportMetric(bytes, "bytes/lease")
	b.ReportMetric(perLease, "goroutines/lease")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/leases, "ns/renewal")
	for _, h := range held {
		if err := h.Err(); err != nil {
			b.Fatalf("Err() of %q = %v", h.Resource(), err)
		}
	}
}

// busy reports whether a renewal is due or in flight.
func busy(m *Manager) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready.Len() > 0 || m.pending.Len() > 0 || m.held.first().due <= m.clock.now()
}

// BenchmarkAcquireRelease is the price of one short lease.
func BenchmarkAcquireRelease(b *testing.B) {
	m := newManager(b, &acceptingStore{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		mustTry(b, m, "a").Release(b.Context())
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // the first may leave what finalizers hold
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

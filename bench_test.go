package leasehold

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// yesStore grants and renews everything and keeps nothing, so that what is
// measured is the Manager.
type yesStore struct {
	Store
	token, renewals atomic.Uint64
}

func (s *yesStore) Acquire(_ context.Context, r AcquireRequest) (Grant, error) {
	return Grant{Lease: Lease{ID: r.ID, Resource: r.Resource, Holder: r.Holder, Token: s.token.Add(1), TTL: r.TTL, Remaining: r.TTL}}, nil
}

func (s *yesStore) Renew(_ context.Context, r RenewRequest) (Lease, error) {
	s.renewals.Add(1)
	return Lease{ID: r.ID, Resource: r.Resource, Token: r.Token, TTL: time.Hour, Remaining: time.Hour}, nil
}

func (s *yesStore) Release(context.Context, ReleaseRequest) (Lease, error) { return Lease{}, nil }

// BenchmarkManager100k holds 100,000 leases. One operation is one renewal of all
// of them by the one scheduler; the host of a fakeHost makes them due at once.
func BenchmarkManager100k(b *testing.B) {
	const leases = 100_000
	host := newFakeHost(b)
	s := &yesStore{}
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

// busy reports whether a renewal is due or under way.
func busy(m *Manager) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready.Len() > 0 || m.inFlight.Len() > 0 || m.held.first().due <= m.clock.now()
}

// BenchmarkAcquireRelease is the price of one short lease.
func BenchmarkAcquireRelease(b *testing.B) {
	m := newManager(b, &yesStore{}, nil)
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

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/store/sqlite"
)

func openDurable(tb testing.TB) leasehold.Store {
	tb.Helper()
	s, err := sqlite.Open(context.Background(), filepath.Join(tb.TempDir(), "leases.db"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// oneByOne makes every operation a transaction of its own: the peer that group
// commit is measured against.
type oneByOne struct {
	leasehold.Store
	mu sync.Mutex
}

func (s *oneByOne) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Acquire(ctx, r)
}

func (s *oneByOne) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Release(ctx, r)
}

// pairs runs n acquire+release pairs on names of each worker's own.
func pairs(tb testing.TB, s leasehold.Store, workers, n int) time.Duration {
	tb.Helper()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	start := time.Now()
	for w := range workers {
		wg.Go(func() {
			name := fmt.Sprintf("bench:worker-%d", w)
			for next.Add(1) <= int64(n) {
				if err := pair(s, name); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		tb.Fatal(*err)
	}
	return time.Since(start)
}

func pair(s leasehold.Store, name string) error {
	ctx := context.Background()
	g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: name, Holder: "bench", TTL: time.Minute})
	if err != nil {
		return err
	}
	_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: name})
	return err
}

func BenchmarkDurablePairs(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			s := openDurable(b)
			b.ResetTimer()
			took := pairs(b, s, workers, b.N)
			b.ReportMetric(float64(b.N)/took.Seconds(), "pairs/s")
		})
	}
}

func BenchmarkMemoryPairs(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			s := memory.New()
			b.Cleanup(func() { s.Close() })
			b.ResetTimer()
			took := pairs(b, s, workers, b.N)
			b.ReportMetric(float64(b.N)/took.Seconds(), "pairs/s")
		})
	}
}

// BenchmarkGroupCommit compares 64 workers that share commits with 64 workers
// whose operations are a transaction each, in alternating rounds on files of
// their own, and prints the ratio of the medians.
func BenchmarkGroupCommit(b *testing.B) {
	const workers, rounds, pairsEach = 64, 5, 400
	for b.Loop() {
		shared, single := openDurable(b), &oneByOne{Store: openDurable(b)}
		var fast, slow []float64
		for range rounds {
			slow = append(slow, rate(b, single, workers, pairsEach))
			fast = append(fast, rate(b, shared, workers, 20*pairsEach))
		}
		b.ReportMetric(median(slow), "single-ops/s")
		b.ReportMetric(median(fast), "grouped-ops/s")
		b.ReportMetric(median(fast)/median(slow), "ratio")
	}
}

func rate(b *testing.B, s leasehold.Store, workers, n int) float64 {
	return 2 * float64(n) / pairs(b, s, workers, n).Seconds()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

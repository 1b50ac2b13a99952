package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// BenchmarkHandoff measures the time from the call of Release to the return of
// the next waiter's Wait, durably, with so many waiters in one queue.
func BenchmarkHandoff(b *testing.B) {
	for _, waiters := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint("waiters=", waiters), func(b *testing.B) {
			benchHandoff(b, openDurable(b), waiters)
		})
	}
}

func benchHandoff(b *testing.B, s leasehold.Store, waiters int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	grants := make(chan leasehold.Grant)
	for range waiters {
		go waitAgainAndAgain(ctx, s.(leasehold.Waiter), grants)
	}
	held := <-grants
	for {
		status, err := s.Status(ctx, held.Resource)
		if err != nil {
			b.Fatal(err)
		}
		if len(status.Waiters) >= waiters-1 {
			break
		}
		time.Sleep(time.Millisecond) // real goroutines queue up in real time
	}
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		if _, err := s.Release(ctx, leasehold.ReleaseRequest{ID: held.ID}); err != nil {
			b.Fatal(err)
		}
		held = <-grants
		took = append(took, time.Since(start))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/handoff-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/handoff-p99")
}

func waitAgainAndAgain(ctx context.Context, s leasehold.Waiter, grants chan<- leasehold.Grant) {
	for ctx.Err() == nil {
		r := leasehold.AcquireRequest{Resource: "handoff", Holder: "bench", TTL: time.Hour, Timeout: leasehold.NoTimeout}
		g, err := s.Wait(ctx, r)
		if err != nil {
			return
		}
		select {
		case grants <- g:
		case <-ctx.Done():
		}
	}
}

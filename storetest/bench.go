package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// Bench measures what matters about a store: acquire and release together and
// renewals, each by 1, 8 and 64 workers on resources of their own, and the
// hand-over to a waiter.
func Bench(b *testing.B, open func(testing.TB) leasehold.Store) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("AcquireRelease/workers=", workers), func(b *testing.B) { benchCycle(b, open(b), workers) })
	}
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("Renew/workers=", workers), func(b *testing.B) { benchRenew(b, open(b), workers) })
	}
	b.Run("HandOver", func(b *testing.B) { benchHandOver(b, open(b)) })
}

func benchRequest(i int) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: fmt.Sprint("bench/", i), Holder: fmt.Sprint("worker-", i), TTL: time.Minute}
}

// share has the workers make b.N calls between them.
func share(b *testing.B, workers int, call func(worker int) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range workers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func benchCycle(b *testing.B, store leasehold.Store, workers int) {
	ctx := b.Context()
	share(b, workers, func(i int) error {
		g, err := store.Acquire(ctx, benchRequest(i))
		if err != nil {
			return err
		}
		_, err = store.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
		return err
	})
}

func benchRenew(b *testing.B, store leasehold.Store, workers int) {
	ctx := b.Context()
	leases := make([]leasehold.Lease, workers)
	for i := range leases {
		g, err := store.Acquire(ctx, benchRequest(i))
		if err != nil {
			b.Fatalf("Acquire = %v, want a grant", err)
		}
		leases[i] = g.Lease
	}
	share(b, workers, func(i int) error {
		_, err := store.Renew(ctx, leasehold.RenewRequest{ID: leases[i].ID, Resource: leases[i].Resource})
		return err
	})
}

// benchHandOver has two waiters acquire one resource in turn.
func benchHandOver(b *testing.B, store leasehold.Store) {
	ctx := b.Context()
	queue, ok := store.(leasehold.Waiter)
	if !ok {
		return
	}
	share(b, 2, func(i int) error {
		r := benchRequest(0)
		r.Holder, r.Timeout = fmt.Sprint("worker-", i), time.Minute
		g, err := queue.Wait(ctx, r)
		if errors.Is(err, leasehold.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = store.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
		return err
	})
}

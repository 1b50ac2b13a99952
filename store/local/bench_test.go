package local

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// BenchmarkBatchSize counts how many operations of 64 workers share a commit
// when the disk takes 200 µs. The best is 64; 32 means that every other commit
// is of one.
func BenchmarkBatchSize(b *testing.B) {
	d := newDisk()
	d.slowness = 200 * time.Microsecond
	e, err := Open(b.Context(), d, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for range b.N {
				g, err := e.Acquire(b.Context(), leasehold.AcquireRequest{Resource: fmt.Sprint(w), Holder: "a"})
				if err == nil {
					_, err = e.Release(b.Context(), leasehold.ReleaseRequest{ID: g.ID})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N*128)/float64(d.commits), "ops/commit")
}

// BenchmarkStatusOfALongQueue reads the status of a resource with 10,000 waiters,
// and reports the longest hold of the lock as a part of the longest call: 1 means
// that nobody is granted anything meanwhile.
func BenchmarkStatusOfALongQueue(b *testing.B) {
	e, err := Open(context.Background(), newDisk(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	e.mu.Lock()
	for i := range 10_000 {
		e.enqueue(e.clock.now(), leasehold.AcquireRequest{Resource: "r", Holder: fmt.Sprint(i), Priority: i % 7, Timeout: leasehold.NoTimeout})
	}
	e.mu.Unlock()
	defer func() { // nobody listens to these waiters
		e.mu.Lock()
		clear(e.queues)
		e.mu.Unlock()
	}()

	var longest, whole time.Duration
	stop := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() { // another goroutine that takes the lock all the time
		for {
			select {
			case <-stop:
				return
			default:
			}
			began := time.Now()
			e.mu.Lock()
			longest = max(longest, time.Since(began)) // under the lock
			e.mu.Unlock()
		}
	})
	for b.Loop() {
		began := time.Now()
		if _, err := e.Status(context.Background(), "r"); err != nil {
			b.Fatal(err)
		}
		whole = max(whole, time.Since(began))
	}
	close(stop)
	other.Wait()
	b.ReportMetric(float64(longest)/float64(whole), "longest-hold/longest-look")
}

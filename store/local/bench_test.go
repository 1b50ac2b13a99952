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

// nowhere is a journal that keeps nothing, so that only the engine is measured.
type nowhere struct{ *disk }

func (nowhere) Commit(*Batch) error { return nil }

// BenchmarkObserver acquires and releases, a commit each, without an observer and
// with one.
func BenchmarkObserver(b *testing.B) {
	var seen Commit
	for name, o := range map[string]*Observer{"none": nil, "commits": {Commit: func(c Commit) { seen = c }}} {
		b.Run(name, func(b *testing.B) {
			e, err := Open(context.Background(), nowhere{newDisk()}, &Options{Observer: o})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			b.ReportAllocs()
			for b.Loop() {
				g, err := e.Acquire(context.Background(), leasehold.AcquireRequest{Resource: "r", Holder: "a"})
				if err == nil {
					_, err = e.Release(context.Background(), leasehold.ReleaseRequest{ID: g.ID})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	_ = seen
}

// BenchmarkFigures reads them while a million leases live.
func BenchmarkFigures(b *testing.B) {
	e, err := Open(context.Background(), nowhere{newDisk()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	e.mu.Lock()
	now := e.clock.now()
	for i := range 1_000_000 {
		r := leasehold.AcquireRequest{Resource: fmt.Sprint(i), Holder: "a", TTL: time.Hour}
		e.apply(now, e.tryAcquire(now, e.config.fill(r), leasehold.NewID()))
	}
	e.mu.Unlock()
	b.ReportAllocs()
	for b.Loop() {
		if f := e.Figures(); f.Leases != 1_000_000 {
			b.Fatalf("Figures = %+v", f)
		}
	}
}

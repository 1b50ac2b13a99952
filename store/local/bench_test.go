package local

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
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
		e.apply(now, e.tryAcquire(now, e.config.Fill(r), leasehold.NewID(), nil))
	}
	e.mu.Unlock()
	b.ReportAllocs()
	for b.Loop() {
		if f := e.Figures(); f.Leases != 1_000_000 {
			b.Fatalf("Figures = %+v", f)
		}
	}
}

// leaseBench is an engine with 100,000 live leases.
func leaseBench(b *testing.B, request func(i int) leasehold.AcquireRequest) *Engine {
	e, err := Open(b.Context(), newDisk(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range 100_000 {
		out := e.tryAcquire(e.clock.now(), e.config.Fill(request(i)), leasehold.NewID(), nil)
		if out.Reason != "" {
			b.Fatal(out.Reason)
		}
		e.apply(e.clock.now(), out)
	}
	return e
}

// benchClaim is the i-th request on a repository of 100 packages with 1,000 files each.
// One of 100 begins with a wildcard.
func benchClaim(i int) leasehold.AcquireRequest {
	pattern := fmt.Sprintf("pkg%d/dir%d/file%d.go", i%100, i/100%10, i)
	switch {
	case i%100 == 0 && i%200 == 0:
		pattern = fmt.Sprintf("**/name%d.go", i)
	case i%100 == 0:
		pattern = fmt.Sprintf("*-%d-/*.md", i)
	case i%10 == 1:
		pattern = fmt.Sprintf("pkg%d/dir%d/sub%d/*_test.go", i%100, i/100%10, i)
	}
	return leasehold.AcquireRequest{Holder: "a", Claims: leasehold.Paths("repo", pattern)}
}

// BenchmarkConflictCheck decides requests beside 100,000 leases on patterns, half of
// them refused, and reports the 99th percentile of a decision.
func BenchmarkConflictCheck(b *testing.B) {
	e := leaseBench(b, benchClaim)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.now()
	var took []time.Duration
	i := 0
	for b.Loop() {
		i++
		r := e.config.Fill(benchClaim(i * 7919 % 200_000)) // of the upper half none is held
		started := time.Now()
		out := e.tryAcquire(now, r, leasehold.ID{}, nil)
		took = append(took, time.Since(started))
		if held := i*7919%200_000 < 100_000; held != (out.Reason == leasehold.ReasonHeld) {
			b.Fatalf("%v = %q", r.Claims, out.Reason)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
	b.ReportMetric(float64(took[len(took)-1].Nanoseconds())/1e3, "max-us")
}

// BenchmarkPlainBesideSets acquires and releases plain names, in turns on an engine
// with 100,000 plain leases and on one with as many sets, and reports the rate of the
// second as a part of the first: 1 means that sets cost plain names nothing.
func BenchmarkPlainBesideSets(b *testing.B) {
	without := leaseBench(b, func(i int) leasehold.AcquireRequest {
		return leasehold.AcquireRequest{Holder: "a", Resource: fmt.Sprintf("pkg%d/dir%d/file%d.go", i%100, i/100%10, i)}
	})
	with := leaseBench(b, benchClaim)
	var took [2][]time.Duration
	for i := 0; b.Loop(); i++ {
		for j, e := range []*Engine{without, with} {
			started := time.Now()
			plainPairs(b, e, i)
			took[j] = append(took[j], time.Since(started))
		}
	}
	for j := range took {
		slices.Sort(took[j])
	}
	b.ReportMetric(float64(took[0][len(took[0])/2])/float64(took[1][len(took[1])/2]), "with/without")
}

// plainPairs decides 100 acquires and releases, without waiting for their commits.
func plainPairs(b *testing.B, e *Engine, i int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.now()
	for n := range 100 {
		out := e.tryAcquire(now, e.config.Fill(leasehold.AcquireRequest{Resource: fmt.Sprint(i*100 + n), Holder: "a"}), leasehold.NewID(), nil)
		e.apply(now, out)
		e.apply(now, machine.Release(now, leasehold.ReleaseRequest{ID: out.Row.ID}, e.byID(out.Row.ID, ""), machine.Standard))
	}
}

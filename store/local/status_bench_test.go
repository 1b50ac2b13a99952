package local

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// BenchmarkStatusOfALongLine looks at a resource that 10,000 wait for, and
// reports how long the lock is held at most for that, as a part of the whole
// look: 1 means that nobody is granted anything meanwhile.
func BenchmarkStatusOfALongLine(b *testing.B) {
	e, err := Open(context.Background(), newDisk(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	e.mu.Lock()
	for i := range 10_000 {
		e.enqueue(e.now(), leasehold.AcquireRequest{Resource: "r", Holder: fmt.Sprint(i), Priority: i % 7, Timeout: leasehold.NoTimeout})
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
	other.Go(func() { // somebody else who wants the lock, all the time
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

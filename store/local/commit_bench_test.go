package local

import (
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

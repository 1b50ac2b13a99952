package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
)

const million = 1_000_000

// BenchmarkMillionHeld fills a file with a million live leases, opens it again
// and reports how long that takes and what a held lease costs in memory beyond
// the bytes of its own name.
func BenchmarkMillionHeld(b *testing.B) {
	path := filepath.Join(b.TempDir(), "million.db")
	text := fill(b, path, million)
	for b.Loop() {
		before := heapInUse()
		start := time.Now()
		s, err := sqlite.Open(context.Background(), path, nil)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		bytes := heapInUse() - before - text
		b.ReportMetric(took.Seconds(), "load-s")
		b.ReportMetric(float64(bytes)/million, "B/lease")
		if _, err := s.Acquire(context.Background(), leasehold.AcquireRequest{Resource: name(0), Holder: "x"}); err == nil {
			b.Fatal("a lease did not survive the restart")
		}
		s.Close()
	}
}

// fill acquires n leases and returns the size of their names.
func fill(b *testing.B, path string, n int) (text int) {
	s, err := sqlite.Open(context.Background(), path, &sqlite.Options{Durability: sqlite.DurabilityNormal})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const workers = 256
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				r := leasehold.AcquireRequest{Resource: name(i), Holder: holder(i), TTL: leasehold.DefaultMaxTTL}
				if _, err := s.Acquire(context.Background(), r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range n {
		text += len(name(i)) // the few distinct holders are shared
	}
	return text
}

func name(i int) string   { return fmt.Sprintf("prod:us-east-1:acme:invoices:batch-%07d", i) }
func holder(i int) string { return fmt.Sprintf("worker-%04d", i%5000) }

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

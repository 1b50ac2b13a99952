package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// sevenKB is as much metadata as an unkind caller would send.
func sevenKB(i int) map[string]string {
	m := map[string]string{}
	for k := range 7 {
		m[fmt.Sprint("k", k)] = strings.Repeat(string(rune('a'+(i+k)%26)), 1000)
	}
	return m
}

// shortLeases holds n leases at a time for a moment each, from the number from
// on.
func shortLeases(t testing.TB, s *Store, from, n int) {
	t.Helper()
	var all sync.WaitGroup
	for i := from; i < from+n; i++ {
		all.Go(func() {
			g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{
				Resource: fmt.Sprint("short-", i), Holder: "h", TTL: time.Minute, Metadata: sevenKB(i)})
			if err == nil {
				_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
			}
			if err != nil {
				t.Errorf("short lease %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestShortLeasesLeaveLittle: thousands of short leases with 7 KB of metadata
// each leave a few hundred bytes each, in the file and after a restart.
func TestShortLeasesLeaveLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, &Options{Durability: DurabilityNormal})
	const leases, atATime = 2000, 100
	for i := 0; i < leases; i += atATime {
		shortLeases(t, s, i, atATime)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	size := fileSize(t, path)
	t.Logf("%d leases of 7 KB: a file of %d KiB", leases, size>>10)
	if size > 5<<20 {
		t.Errorf("%d short leases leave a file of %d bytes, want less than a third of their metadata", leases, size)
	}
	s = newStore(t, path, nil)
	status, err := s.Status(t.Context(), "short-7")
	if err != nil || status.Lease == nil || len(status.Lease.Metadata) != 0 {
		t.Errorf("Status of an ended lease after a restart = %+v, %v; want it known, without metadata", status.Lease, err)
	}
}

// BenchmarkShortLeases holds short leases with 7 KB of metadata, as fast as it
// can, and reports what they leave: in steady state neither number grows.
func BenchmarkShortLeases(b *testing.B) {
	path := filepath.Join(b.TempDir(), "leases.db")
	s := newStore(b, path, &Options{Durability: DurabilityNormal})
	n := 0
	for b.Loop() {
		shortLeases(b, s, n, 100)
		n += 100
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "leases/s")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/float64(n), "heap-B/lease")
	b.ReportMetric(float64(fileSize(b, path))/float64(n), "file-B/lease")
}

package postgres

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
)

// BenchmarkBare is what to compare with: a row inserted if there is none, and
// deleted, each a transaction.
func BenchmarkBare(b *testing.B) {
	pool := newPool(b, testserver.Postgres(b, "-c", benchFsync()).Addr)
	_, err := pool.Exec(b.Context(), "CREATE TABLE bare (resource text PRIMARY KEY, holder text, expires timestamptz)")
	must(b, err)
	each(b, func(i int) error {
		name := fmt.Sprint("bench/", i)
		_, err := pool.Exec(b.Context(), `INSERT INTO bare VALUES ($1, $2, now() + interval '1 minute')
			ON CONFLICT (resource) DO UPDATE SET holder = EXCLUDED.holder, expires = EXCLUDED.expires WHERE bare.expires < now()`, name, "h")
		if err == nil {
			_, err = pool.Exec(b.Context(), "DELETE FROM bare WHERE resource = $1 AND holder = $2", name, "h")
		}
		return err
	})
}

// BenchmarkPairs acquires and releases, without and with a history, and with a
// proposed id as a Manager does.
func BenchmarkPairs(b *testing.B) {
	for _, history := range []bool{false, true} {
		b.Run(fmt.Sprint("history=", history), func(b *testing.B) {
			pool := newPool(b, testserver.Postgres(b, "-c", benchFsync()).Addr)
			s := openOn(b, pool, &Options{NoHistory: !history})
			each(b, func(i int) error {
				g, err := s.Acquire(b.Context(), leasehold.AcquireRequest{
					Resource: fmt.Sprint("bench/", i), Holder: "h", TTL: time.Minute, ID: leasehold.NewID(),
				})
				if err == nil {
					_, err = s.Release(b.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
				}
				return err
			})
		})
	}
}

// each shares b.N calls among one and sixteen workers.
func each(b *testing.B, call func(worker int) error) {
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
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
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

// benchFsync lets the processor be measured instead of the disk.
func benchFsync() string {
	if os.Getenv("LEASEHOLD_BENCH_NOFSYNC") != "" {
		return "fsync=off"
	}
	return "fsync=on"
}

package surreal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
)

// BenchmarkAcquireRelease measures pairs of acquire and release beside what the
// database itself takes: CREATE and DELETE of a record of the same name; and the same
// with a counter in the transaction, by which the records of a history could be
// numbered.
func BenchmarkAcquireRelease(b *testing.B) {
	addr := testserver.Surreal(b).Addr
	s, err := Open(b.Context(), &Options{Address: addr, Database: "store"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	quiet, err := Open(b.Context(), &Options{Address: addr, Database: "quiet"})
	if err != nil {
		b.Fatal(err)
	}
	defer quiet.Close()
	if _, err := quiet.SetSetting(b.Context(), leasehold.SettingKeepHistory, false); err != nil {
		b.Fatal(err)
	}
	c := newConn(Options{Address: addr, Database: "bare"}.withPlace())
	defer c.close()
	db, err := surrealdb.FromConnection(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 16} {
		for name, pair := range map[string]func(ctx context.Context, name string) error{
			"store":         func(ctx context.Context, name string) error { return leasePair(ctx, s, name) },
			"withoutrecord": func(ctx context.Context, name string) error { return leasePair(ctx, quiet, name) },
			"bare": func(ctx context.Context, name string) error {
				return statements(ctx, db, name, "CREATE $r CONTENT { holder: 'h' }", "DELETE $r")
			},
			"counter": func(ctx context.Context, name string) error {
				const count = "; UPSERT bench_numbers:one SET last += 1; COMMIT"
				return statements(ctx, db, name, "BEGIN; CREATE $r CONTENT { holder: 'h' }"+count, "BEGIN; DELETE $r"+count)
			},
		} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) { pairs(b, workers, pair) })
		}
	}
}

func leasePair(ctx context.Context, s *Store, name string) error {
	g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: name, Holder: "h", TTL: time.Minute})
	if err != nil {
		return err
	}
	_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: name})
	return err
}

// statements executes each until it does not conflict with others.
func statements(ctx context.Context, db *surrealdb.DB, name string, all ...string) error {
	r := leaseRecord(name)
	r.Table = "bench"
	for _, text := range all {
		for {
			_, err := surrealdb.Query[any](ctx, db, text, map[string]any{"r": r})
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

func pairs(b *testing.B, workers int, pair func(ctx context.Context, name string) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for w := range workers {
		all.Go(func() {
			for i := 0; left.Add(-1) >= 0; i++ {
				if err := pair(b.Context(), fmt.Sprintf("bench-%d-%d", w, i%100)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

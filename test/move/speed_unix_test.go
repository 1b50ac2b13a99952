//go:build unix

package move_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/open"
)

// fill gives an empty store leases the short way: by importing them.
func fill(tb testing.TB, s open.Movable, n int) {
	tb.Helper()
	arriving := move.Mark{ID: "fill/1", State: move.Arriving}
	if err := s.SwapMoveMark(tb.Context(), move.Mark{}, arriving); err != nil {
		tb.Fatal(err)
	}
	for first := 0; first < n; first += 500 {
		var leases []move.Lease
		for i := first; i < min(first+500, n); i++ {
			leases = append(leases, move.Lease{Remaining: time.Hour, Row: machine.Row{
				Resource: fmt.Sprintf("resource-%07d", i), Holder: "holder", ID: leasehold.NewID(), Token: uint64(i + 1),
				State: leasehold.StateActive, TTL: time.Hour, MaxRenewals: leasehold.Unlimited,
			}})
		}
		if err := s.Import(tb.Context(), arriving, leases); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.ImportBase(tb.Context(), arriving, uint64(n), nil); err != nil {
		tb.Fatal(err)
	}
	if err := s.SwapMoveMark(tb.Context(), arriving, move.Mark{ID: arriving.ID}); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkMove moves leases to PostgreSQL and back.
func BenchmarkMove(b *testing.B) {
	postgres := testserver.PostgresURL(testserver.Postgres(b).Addr, "postgres")
	b.Run("sqlite", func(b *testing.B) {
		benchmarkMove(b, 20_000, open.SQLiteURL(filepath.Join(b.TempDir(), "leases.db")), postgres+"&schema=with_sqlite")
	})
	b.Run("etcd", func(b *testing.B) {
		benchmarkMove(b, 5_000, "etcd://"+testserver.Etcd(b).Addr, postgres+"&schema=with_etcd")
	})
}

func benchmarkMove(b *testing.B, leases int, urls ...string) {
	var stores [2]open.Movable
	for i, url := range urls {
		s, err := open.Move(b.Context(), url, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		stores[i] = s
	}
	fill(b, stores[0], leases)
	var took [2]time.Duration
	for b.Loop() {
		for i := range stores {
			began := time.Now()
			r, err := move.Run(b.Context(), stores[i], stores[1-i], move.Options{From: "from:", To: "to:"})
			if err != nil || r.Copied != int64(leases) {
				b.Fatalf("Run = %+v, %v", r, err)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(leases*b.N)/took[0].Seconds(), "to-postgres-leases/s")
	b.ReportMetric(float64(leases*b.N)/took[1].Seconds(), "back-leases/s")
}

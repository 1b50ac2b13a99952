package shared

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/storetest"
	sqlitedb "zombiezen.com/go/sqlite"
)

func BenchmarkShared(b *testing.B) {
	storetest.Bench(b, func(t testing.TB) leasehold.Store {
		return newStore(t, filepath.Join(b.TempDir(), "leases.db"), nil)
	})
}

// BenchmarkCycle acquires and releases, beside the two bare statements that leave no
// history, know no ids and judge nothing: each in its own transaction, in a file
// with the same settings.
func BenchmarkCycle(b *testing.B) {
	for _, durability := range []sqlite.Durability{sqlite.DurabilityFull, sqlite.DurabilityNormal} {
		synchronous := []string{"FULL", "NORMAL"}[durability]
		for _, workers := range []int{1, 16} {
			name := fmt.Sprintf("synchronous=%s/workers=%d", synchronous, workers)
			b.Run("bare/"+name, func(b *testing.B) { benchBare(b, synchronous, workers) })
			b.Run("lease/"+name, func(b *testing.B) { benchLease(b, durability, workers, true) })
			b.Run("lease-without-history/"+name, func(b *testing.B) { benchLease(b, durability, workers, false) })
		}
	}
}

// cycles runs b.N cycles, shared among the workers.
func cycles(b *testing.B, workers int, cycle func(worker int) error) {
	b.ResetTimer()
	errs := make(chan error, workers)
	for worker := range workers {
		go func() {
			var err error
			for i := worker; i < b.N && err == nil; i += workers {
				err = cycle(worker)
			}
			errs <- err
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}

func benchLease(b *testing.B, durability sqlite.Durability, workers int, history bool) {
	s := newStore(b, filepath.Join(b.TempDir(), "leases.db"), &Options{Durability: durability})
	if _, err := s.SetSetting(b.Context(), leasehold.SettingKeepHistory, history); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	cycles(b, workers, func(worker int) error {
		g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: fmt.Sprint("r", worker), Holder: "h", TTL: time.Minute})
		if err != nil {
			return err
		}
		_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
		return err
	})
}

func benchBare(b *testing.B, synchronous string, workers int) {
	path := filepath.Join(b.TempDir(), "bare.db")
	conns := make([]*sqlitedb.Conn, workers)
	for i := range conns {
		conn, err := sqlitedb.OpenConn(path, sqlitedb.OpenReadWrite|sqlitedb.OpenCreate|sqlitedb.OpenWAL)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		conn.SetBusyTimeout(time.Minute)
		for _, sql := range []string{
			"PRAGMA synchronous = " + synchronous,
			"CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, holder TEXT, ends INTEGER) WITHOUT ROWID",
		} {
			if err := dbfile.Run(conn, sql); err != nil {
				b.Fatal(err)
			}
		}
		conns[i] = conn
	}
	cycles(b, workers, func(worker int) error {
		name := fmt.Sprint("r", worker)
		err := query(conns[worker], `INSERT INTO locks VALUES (?1, 'h', ?2) ON CONFLICT (name) DO UPDATE SET holder = 'h', ends = ?2 WHERE ends < ?3`,
			func(s *sqlitedb.Stmt) {
				s.BindText(1, name)
				s.BindInt64(2, time.Now().Add(time.Minute).UnixNano())
				s.BindInt64(3, time.Now().UnixNano())
			}, nil)
		if err != nil {
			return err
		}
		return query(conns[worker], "DELETE FROM locks WHERE name = ?1", func(s *sqlitedb.Stmt) { s.BindText(1, name) }, nil)
	})
}

package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// lacking is what the store cannot do.
var lacking = powers.Lacks[storetest.Capability](powers.KindPostgres)

// conform runs the suite with stores on one pool, each in a schema of its own.
func conform(t *testing.T, pool *pgxpool.Pool, o Options, lacks ...storetest.Capability) {
	open := func(t testing.TB, schema string) leasehold.Store {
		mine := o
		mine.Schema, mine.Timeout = schema, time.Minute // a busy machine is no outage
		return openOn(t, pool, &mine)
	}
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open:     func(t testing.TB) leasehold.Store { return open(t, newSchema()) },
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			if err := old.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return open(t, old.(*Store).db.opts.Schema)
		},
		Queued:  func(s leasehold.Store, resource string) int { return s.(*Store).Waiting(resource) },
		Without: append(lacks, lacking...),
	})
}

func TestConformance(t *testing.T) {
	conform(t, newPool(t, server(t).Addr), Options{})
}

func TestConformanceWithoutHistory(t *testing.T) {
	conform(t, newPool(t, server(t).Addr), Options{NoHistory: true}, storetest.History, storetest.Watching)
}

// Behind PgBouncer in transaction mode everything works too, with and without a
// connection to listen on.
func TestConformanceBehindPgBouncer(t *testing.T) {
	for _, listen := range []string{testserver.PostgresURL(server(t).Addr, "postgres"), ""} {
		conform(t, newPool(t, testserver.PgBouncer(t, server(t)).Addr), Options{Listen: listen})
	}
}

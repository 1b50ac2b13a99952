package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// faultyPool connects in a short time, so that a cut does not take long.
func faultyPool(t testing.TB, addr string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(testserver.PostgresURL(addr, "postgres"))
	must(t, err)
	config.MaxConns, config.ConnConfig.ConnectTimeout = 32, time.Second
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// TestLinearizable breaks connections and kills the server while 16 workers acquire,
// renew, transfer, break and release.
func TestLinearizable(t *testing.T) {
	server := testserver.Postgres(t)
	network := testserver.Proxy(t, server.Addr)
	var pool *pgxpool.Pool
	storetest.HammerWithFaults(t, storetest.FaultLoad{
		Rounds: soak.Rounds(5, 20),
		Calls:  60,
		Open: func(round int) leasehold.Store {
			o := &Options{Schema: newSchema(), NoHistory: round%2 == 1, Timeout: 2 * time.Second}
			if pool != nil {
				pool.Close() // the server has a limit
			}
			pool = faultyPool(t, network.Addr)
			return openOn(t, pool, o)
		},
		Disturb: func(ctx context.Context, round int) int {
			return network.Disturb(ctx, uint64(round), 50*time.Millisecond, 150*time.Millisecond, server.Restart)
		},
	})
}

// Two servers, each with rows in hand that the other changes.
func TestLinearizableWithTwoStores(t *testing.T) {
	for seed := range uint64(soak.Rounds(3, 10)) {
		// Each round closes its connections: the server has a limit.
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a, b := pair(t)
			rec := storetest.Hammer(t, &storetest.Alternate{Stores: []leasehold.Store{a, b}}, &storetest.LoadOptions{Workers: 16, Calls: 60, Resources: 3, Seed: seed, Waiting: true})
			storetest.CheckHistory(t, rec)
		})
	}
}

// TestCheckerCatchesBrokenStatements breaks the SQL on purpose: the checker must see
// it.
func TestCheckerCatchesBrokenStatements(t *testing.T) {
	for _, flaw := range []struct{ name, good, bad string }{
		{"the version is not compared", "w.version = $20", "$20::bigint IS NOT NULL"},
		{"tokens repeat", "CASE WHEN $5::boolean THEN nextval('{s}.lease_tokens') ELSE $4 END", "CASE WHEN $5::boolean THEN 7 ELSE $4 END"},
		{"a row is not locked", "WHERE resource = $1 FOR UPDATE", "WHERE resource = $1"},
	} {
		t.Run(flaw.name, func(t *testing.T) {
			caught := false
			for seed := uint64(0); seed < 60 && !caught; seed++ {
				o := &Options{Schema: newSchema()}
				a, b := openOn(t, newPool(t, server(t).Addr), o), openOn(t, newPool(t, server(t).Addr), o)
				changed := 0
				for _, s := range []*Store{a, b} {
					for name, sql := range s.db.sql {
						bad := strings.ReplaceAll(sql, strings.ReplaceAll(flaw.good, "{s}", fmt.Sprintf("%q", o.Schema)), flaw.bad)
						if bad != sql {
							s.db.sql[name] = bad
							changed++
						}
					}
				}
				if changed == 0 {
					t.Fatalf("no statement has %q", flaw.good)
				}
				rec := storetest.Hammer(t, &storetest.Alternate{Stores: []leasehold.Store{a, b}}, &storetest.LoadOptions{Workers: 16, Calls: 40, Resources: 1, Seed: seed})
				caught = rec.Check() != nil
			}
			if !caught {
				t.Error("the checker finds nothing wrong")
			}
		})
	}
}

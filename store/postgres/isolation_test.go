package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

// Where transactions are "repeatable read" unless they say otherwise, a statement
// that waits for the mark of a move must not go on with what it saw before.
func TestMarkIsSeenInOtherIsolation(t *testing.T) {
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			config, err := pgxpool.ParseConfig(testserver.PostgresURL(server(t).Addr, "postgres"))
			must(t, err)
			config.ConnConfig.RuntimeParams["default_transaction_isolation"] = level
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			must(t, err)
			t.Cleanup(pool.Close)
			other := newPool(t, server(t).Addr) // or the acquire would have to prepare its statement, and wait there
			s := openOn(t, pool, &Options{Schema: newSchema()})
			tx, err := other.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
			must(t, err)
			for range 3 { // the statements are prepared by then, and the row is in hand
				release(t, s, acquire(t, s, "r", "a", time.Minute).Lease)
			}
			_, err = tx.Exec(t.Context(), s.db.sql["lock_alone"])
			must(t, err)
			acquired := make(chan error, 1)
			go func() {
				_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b", TTL: time.Minute})
				acquired <- err
			}()
			process.Eventually(t, "the acquire waits for the lock", func() bool {
				var n int
				must(t, other.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass",
					s.db.opts.Schema+".leases").Scan(&n))
				return n > 0
			})
			_, err = tx.Exec(t.Context(), s.db.sql["put_control"], 0, string(move.Left), "m", "peer", time.Now())
			must(t, err)
			must(t, tx.Commit(t.Context()))
			if err := <-acquired; leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
				t.Errorf("Acquire = %v, want a refusal: the leases have left", err)
			}
		})
	}
}

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

// A commit whose wait for a synchronous replica was given up is committed here and
// nowhere else: a failover would lose it, so it is not acknowledged.
func TestCommitWithoutItsReplicaIsUnknown(t *testing.T) {
	pool := newPool(t, testserver.Postgres(t).Addr)
	s := openOn(t, pool, &Options{Schema: newSchema(), Timeout: 2 * time.Second})
	_, err := s.SetSetting(t.Context(), leasehold.SettingMaxLeasesCaller, int64(5)) // so that it is a transaction
	must(t, err)
	_, err = pool.Exec(t.Context(), "CREATE TABLE written ()")
	must(t, err)
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"} {
		_, err := pool.Exec(t.Context(), sql)
		must(t, err)
	}
	process.Eventually(t, "commits wait for the replica", func() bool { return waitsForReplica(t, pool) })
	_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{
		Resource: "r", Holder: "a", Caller: "c", TTL: time.Minute, ID: leasehold.NewID(),
	})
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("Acquire = %v, want unknown: no replica has it", err)
	}
	_, err = pool.Exec(t.Context(), "ALTER SYSTEM RESET synchronous_standby_names")
	must(t, err)
	_, err = pool.Exec(t.Context(), "SELECT pg_reload_conf()")
	must(t, err)
}

// waitsForReplica reports whether a commit waits: the setting is known to a connection
// before the process has it that tells commits to wait.
func waitsForReplica(t *testing.T, pool *pgxpool.Pool) bool {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = pool.Exec(ctx, "INSERT INTO written DEFAULT VALUES")
	}()
	defer func() { cancel(); <-done }()
	for {
		var waits bool
		must(t, pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')").Scan(&waits))
		select {
		case <-done:
			return false
		default:
		}
		if waits {
			return true
		}
	}
}

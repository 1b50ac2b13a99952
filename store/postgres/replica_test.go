package postgres

import (
	"testing"
	"time"

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
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"} {
		_, err := pool.Exec(t.Context(), sql)
		must(t, err)
	}
	process.Eventually(t, "the replica is waited for", func() bool {
		var names string
		must(t, pool.QueryRow(t.Context(), "SHOW synchronous_standby_names").Scan(&names))
		return names == "nobody"
	})
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

package stores_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/etcd"
	"github.com/leasehold/leasehold/store/postgres"
	"github.com/leasehold/leasehold/storetest"
)

// The whole way: client, wire, server, PostgreSQL.
func TestPostgresThroughServer(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), testserver.PostgresURL(testserver.Postgres(t).Addr, "postgres")+"&pool_max_conns=64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var last atomic.Int64
	h := storetest.Harness{Without: powers.Lacks[storetest.Capability](powers.KindPostgres)}
	runThroughServer(t, h, func(t testing.TB) leasehold.Store {
		o := &postgres.Options{Schema: fmt.Sprintf("t%d", last.Add(1)), Timeout: time.Minute} // a busy machine is no outage
		return storetest.Open(t, func() (*postgres.Store, error) { return postgres.New(t.Context(), pool, o) })
	})
}

// The whole way: client, wire, server, etcd.
func TestEtcdThroughServer(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{testserver.Etcd(t).Addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	var last atomic.Int64
	h := storetest.Harness{Slack: 2 * time.Second, Without: powers.Lacks[storetest.Capability](powers.KindEtcd)}
	runThroughServer(t, h, func(t testing.TB) leasehold.Store {
		o := &etcd.Options{Prefix: fmt.Sprintf("t%d/", last.Add(1)), Timeout: time.Minute}
		return storetest.Open(t, func() (*etcd.Store, error) { return etcd.New(t.Context(), client, o) })
	})
}

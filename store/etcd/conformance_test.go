package etcd

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// lacking is what the store cannot do.
var lacking = powers.Lacks[storetest.Capability](powers.KindEtcd)

// prefixes gives every store of a test keys of its own on one server.
type prefixes struct{ last atomic.Int64 }

func (p *prefixes) next() string { return fmt.Sprintf("t%d/", p.last.Add(1)) }

// newClient returns a client that ends with the test.
func newClient(t testing.TB, addrs ...string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: addrs, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func openOn(t testing.TB, client *clientv3.Client, o *Options) *Store {
	t.Helper()
	return storetest.Open(t, func() (*Store, error) { return New(t.Context(), client, o) })
}

func TestConformance(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	var names prefixes
	open := func(t testing.TB, prefix string) leasehold.Store {
		return openOn(t, client, &Options{Prefix: prefix, Timeout: time.Minute}) // a busy machine is no outage
	}
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open:     func(t testing.TB) leasehold.Store { return open(t, names.next()) },
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			if err := old.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
			return open(t, old.(*Store).backend.keys.prefix)
		},
		Slack:   2 * time.Second,
		Queued:  func(s leasehold.Store, resource string) int { return s.(*Store).Waiting(resource) },
		Without: lacking,
	})
}

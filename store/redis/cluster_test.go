package redis

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
	"github.com/redis/go-redis/v9"
)

// startCluster starts a Cluster of three nodes and returns their addresses.
func startCluster(t testing.TB) []string {
	t.Helper()
	const nodes, slots = 3, 16384
	var addrs []string
	for i := range nodes {
		bus := testserver.FreePort(t)
		server := testserver.Redis(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", strconv.Itoa(bus))
		addrs = append(addrs, server.Addr)
		node := newClient(t, server.Addr)
		from, to := i*slots/nodes, (i+1)*slots/nodes-1
		must(t, node.Do(t.Context(), "cluster", "addslotsrange", from, to).Err())
		must(t, node.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err())
		host, port, _ := net.SplitHostPort(server.Addr)
		must(t, newClient(t, addrs[0]).Do(t.Context(), "cluster", "meet", host, port, bus).Err())
	}
	for _, addr := range addrs {
		node := newClient(t, addr)
		eventually(t, "the cluster is whole", func() bool {
			info, err := node.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, "cluster_slots_ok:16384")
		})
	}
	return addrs
}

func newClusterClient(t testing.TB, addrs []string) *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, PoolSize: 60, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition, generously.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // another process says nothing by itself
	}
}

// TestConformanceCluster spreads the resources over the nodes of a Cluster.
func TestConformanceCluster(t *testing.T) {
	conform(t, newClusterClient(t, startCluster(t)), Options{}, storetest.History)
}

// TestConformanceClusterTagged puts all keys of a store into one slot, so that it
// can do all that it can on one server.
func TestConformanceClusterTagged(t *testing.T) {
	client := newClusterClient(t, startCluster(t))
	var names prefixes
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open: func(t testing.TB) leasehold.Store {
			return openOn(t, client, &Options{KeyPrefix: "{" + names.next() + "}"})
		},
		Without: lacking,
	})
}

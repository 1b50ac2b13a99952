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
	"github.com/leasehold/leasehold/test/process"
	"github.com/redis/go-redis/v9"
)

// startCluster starts a Cluster of three nodes and returns their addresses.
func startCluster(t testing.TB) []string {
	t.Helper()
	addrs, _ := startNodes(t)
	return addrs
}

func startNodes(t testing.TB) (addrs []string, servers []*testserver.Server) {
	t.Helper()
	const nodes, slots = 3, 16384
	for i := range nodes {
		bus := testserver.FreePort(t)
		server := testserver.Redis(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", strconv.Itoa(bus))
		addrs, servers = append(addrs, server.Addr), append(servers, server)
		node := newClient(t, server.Addr)
		from, to := i*slots/nodes, (i+1)*slots/nodes-1
		must(t, node.Do(t.Context(), "cluster", "addslotsrange", from, to).Err())
		must(t, node.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err())
		host, port, _ := net.SplitHostPort(server.Addr)
		must(t, newClient(t, addrs[0]).Do(t.Context(), "cluster", "meet", host, port, bus).Err())
	}
	for _, addr := range addrs {
		node := newClient(t, addr)
		process.Eventually(t, "the cluster is whole", func() bool {
			info, err := node.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, "cluster_slots_ok:16384")
		})
	}
	return addrs, servers
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
		Queued:  func(s leasehold.Store, resource string) int { return s.(*Store).Waiting(resource) },
		Without: lacking,
	})
}

// An id belongs to one lease in the Cluster, though its index is on another node.
func TestClusterClaims(t *testing.T) {
	client := newClusterClient(t, startCluster(t))
	s := openOn(t, client, nil)
	wanted := func(resource string, id leasehold.ID) leasehold.AcquireRequest {
		return leasehold.AcquireRequest{Resource: resource, Holder: "h", ID: id, TTL: time.Minute}
	}
	refused := func(what string, r leasehold.AcquireRequest, want leasehold.Reason) {
		t.Helper()
		if _, err := s.Acquire(t.Context(), r); leasehold.ReasonOf(err) != want {
			t.Errorf("Acquire with %s = %v, want %s", what, err, want)
		}
	}
	id, next := leasehold.NewID(), leasehold.NewID()
	g, err := s.Acquire(t.Context(), wanted("a", id))
	must(t, err)
	refused("an id in use", wanted("b", id), leasehold.ReasonIDInUse)
	_, err = s.Change(t.Context(), leasehold.ChangeRequest{ID: g.ID, Resource: "a", Proposed: next})
	must(t, err)
	refused("the id before a change", wanted("b", id), leasehold.ReasonReleased)
	_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: next, Resource: "a"})
	must(t, err)
	if client.Exists(t.Context(), s.keys.id(next)).Val() != 0 {
		t.Error("the claim of a released lease is left")
	}
	// A claim whose lease was never granted, because its client died.
	dead := leasehold.NewID()
	must(t, client.HSet(t.Context(), s.keys.id(dead), "resource", "a", "mark", "x", "until", time.Now().Add(time.Hour).UnixMilli()).Err())
	refused("an id that another is about to get", wanted("b", dead), leasehold.ReasonIDInUse)
	must(t, client.HSet(t.Context(), s.keys.id(dead), "until", 0).Err())
	if _, err := s.Acquire(t.Context(), wanted("b", dead)); err != nil {
		t.Errorf("Acquire with the id of a dead claim = %v, want a grant", err)
	}
	// A request that arrives later than its claim lasts.
	late := request{op: "acquire", resource: "late", script: acquireScript, mark: "m", facts: `{"deadline":"1"}`,
		args: []any{leasehold.NewID().Reveal(), "1", "h", 60000, "", "", 0, "0"}}
	a, err := s.run(t.Context(), late)
	must(t, err)
	if err := s.refusal("acquire", "late", time.Minute, a); leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
		t.Errorf("Acquire after its deadline = %v, want ErrUnavailable", err)
	}
}

// Names without a lease leave the list, unless somebody may be about to acquire
// them.
func TestClusterForgetsNames(t *testing.T) {
	client := newClusterClient(t, startCluster(t))
	s := openOn(t, client, nil)
	for _, name := range []string{"old", "young", "live"} {
		g := acquire(t, s, name, "h", time.Minute)
		if name != "live" {
			release(t, s, g.Lease)
		}
	}
	for _, name := range []string{"old", "live"} {
		must(t, client.HSet(t.Context(), s.keys.touched, name, 1).Err())
	}
	tidy(t, s)
	if got := client.ZRange(t.Context(), s.keys.names, 0, -1).Val(); len(got) != 2 || got[0] != "live" || got[1] != "young" {
		t.Errorf("names = %q, want live and young", got)
	}
	page, err := s.List(t.Context(), leasehold.ListRequest{})
	if err != nil || len(page.Leases) != 1 || page.Leases[0].Resource != "live" {
		t.Errorf("List = %+v, %v; want live", page.Leases, err)
	}
}

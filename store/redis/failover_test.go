package redis

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
	"github.com/redis/go-redis/v9"
)

// startReplica starts a replica of a server and waits until it follows.
func startReplica(t testing.TB, master string) *redis.Client {
	t.Helper()
	host, port, _ := net.SplitHostPort(master)
	client := newClient(t, testserver.Redis(t, "--repl-diskless-sync-delay", "0").Addr)
	must(t, client.ReplicaOf(t.Context(), host, port).Err())
	process.Eventually(t, "the replica follows", func() bool {
		return strings.Contains(client.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	return client
}

// TestFailoverCanLoseALease shows what asynchronous replication costs, and what
// docs/stores/redis.md says about it: a grant that the replica has not seen is
// gone after it was promoted, and somebody else gets the lease though the first
// holder believes in it. Its token is larger, so a guard refuses the first.
func TestFailoverCanLoseALease(t *testing.T) {
	server := testserver.Redis(t, "--repl-diskless-sync-delay", "0")
	network := testserver.Proxy(t, server.Addr) // between master and replica
	before := openOn(t, newClient(t, server.Addr), nil)
	replica := startReplica(t, network.Addr)

	seen := acquire(t, before, "seen", "first", time.Minute)
	process.Eventually(t, "the replica has the lease", func() bool { return replica.Exists(t.Context(), "lease:seen").Val() == 1 })
	network.Cut()
	unseen := acquire(t, before, "unseen", "first", time.Minute) // acknowledged, and never replicated

	must(t, replica.ReplicaOf(t.Context(), "no", "one").Err()) // the failover
	after := openOn(t, replica, nil)
	_, err := after.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "seen", Holder: "second", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("Acquire of a lease that was replicated = %v, want ErrHeld", err)
	}
	if _, err := after.Renew(t.Context(), leasehold.RenewRequest{ID: seen.ID, Resource: "seen"}); err != nil {
		t.Errorf("Renew of a lease that was replicated = %v, want success", err)
	}
	stolen := acquire(t, after, "unseen", "second", time.Minute)
	if stolen.Token <= unseen.Token {
		t.Errorf("token %d after the failover, want above %d: the servers' clocks agree", stolen.Token, unseen.Token)
	}
	_, err = after.Renew(t.Context(), leasehold.RenewRequest{ID: unseen.ID, Resource: "unseen"})
	if !errors.Is(err, leasehold.ErrNotFound) {
		t.Errorf("Renew of the lost lease = %v, want ErrNotFound: its holder stops at the next renewal", err)
	}
}

// TestNoWriteWithoutReplica shows the server's own setting that narrows this: a
// master that has lost its replica grants nothing.
func TestNoWriteWithoutReplica(t *testing.T) {
	server := testserver.Redis(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10")
	s := openOn(t, newClient(t, server.Addr), nil)
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("Acquire without a replica = %v, want ErrUnavailable with NOREPLICAS", err)
	}
}

// A replica answers that it is one.
func TestReplicaRefuses(t *testing.T) {
	server := testserver.Redis(t, "--repl-diskless-sync-delay", "0")
	s := openOn(t, startReplica(t, server.Addr), nil)
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "replica") {
		t.Errorf("Acquire on a replica = %v, want ErrUnavailable that says so", err)
	}
}

package etcd

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/test/process"
)

func acquire(t testing.TB, s *Store, resource string, ttl time.Duration) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: ttl})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

// A change of the leader restarts the time of every lease: none ends early, and one
// that nobody renews ends late, by as much as it was old.
func TestLeaderChangeRestartsTTLs(t *testing.T) {
	members := testserver.EtcdCluster(t)
	client := newClient(t, addrs(members)...)
	s := openOn(t, client, nil)
	const ttl = 8 * time.Second
	started := time.Now()
	g := acquire(t, s, "r", ttl)
	time.Sleep(4 * time.Second) // half of its time passes, on etcd's clock
	before, err := s.Status(t.Context(), "r")
	if err != nil || !before.Locked() || before.Lease.Remaining > 4*time.Second {
		t.Fatalf("Status after 4s = %+v, %v; want at most 4s left", before.Lease, err)
	}
	i, ok := leader(t, client, members)
	if !ok {
		t.Fatal("no leader")
	}
	members[i].Kill()
	killed := time.Since(started)
	process.Eventually(t, "there is a leader again", func() bool { _, ok := leader(t, client, members); return ok })
	after, err := s.Status(t.Context(), "r")
	elected := time.Since(started)
	if err != nil || !after.Locked() || after.Lease.Token != g.Token {
		t.Fatalf("Status after the leader's death = %+v, %v; want the same lease", after.Lease, err)
	}
	if after.Lease.Remaining <= before.Lease.Remaining {
		t.Errorf("%v remain after the change and %v before it; want the time to have started again", after.Lease.Remaining, before.Lease.Remaining)
	}
	process.Eventually(t, "the lease has ended", func() bool {
		status, err := s.Status(t.Context(), "r")
		return err == nil && !status.Locked()
	})
	ended := time.Since(started)
	t.Logf("ttl %v; the leader was killed after %v, another one answered after %v with %v remaining; the lease ended after %v",
		ttl, killed.Round(10*time.Millisecond), elected.Round(10*time.Millisecond), after.Lease.Remaining, ended.Round(10*time.Millisecond))
	if ended < ttl || ended < killed+ttl {
		t.Errorf("the lease ended after %v, want its whole ttl after the change of leaders", ended)
	}
}

// A leader that slept while another was elected still believes that it leads, and
// answers that a lease goes on: nobody else knows of it. A renewal counts only if
// the present leader has seen it.
func TestRenewalAtAFormerLeader(t *testing.T) {
	members := testserver.EtcdCluster(t)
	all := newClient(t, addrs(members)...)
	promised := 0
	for round := 0; round < 9 && promised < 3; round++ {
		i, ok := 0, false
		process.Eventually(t, "there is a leader", func() bool { i, ok = leader(t, all, members); return ok })
		others := []*testserver.Server{members[(i+1)%3], members[(i+2)%3]}
		near := openOn(t, newClient(t, members[i].Addr), nil)
		far := openOn(t, newClient(t, addrs(others)...), nil)
		const ttl = 7 * time.Second
		name := string(rune('a' + round))
		g := acquire(t, near, name, ttl)
		item, err := near.backend.Load(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		members[i].Pause()
		process.Eventually(t, "another one leads", func() bool { _, ok := leader(t, all, others); return ok })
		time.Sleep(2 * time.Second) // time of the lease that the former leader does not count
		sent := time.Now()
		time.AfterFunc(50*time.Millisecond, members[i].Resume) // the request is there when it wakes up
		_, err = near.backend.Swap(t.Context(), item.Version, cas.Write{
			Row: item.Row, Was: item, TTL: ttl, Marks: []string{newMark()}, Settings: item.Settings,
		})
		if err != nil {
			t.Logf("renewal = %v", err)
			continue // no promise was made
		}
		promised++
		for time.Since(sent) < ttl-100*time.Millisecond {
			status, err := far.Status(t.Context(), name)
			if err != nil || !status.Locked() || status.Lease.Token != g.Token {
				t.Fatalf("%v after a renewal for %v: %+v, %v; want the lease still there", time.Since(sent), ttl, status.Lease, err)
			}
			time.Sleep(200 * time.Millisecond) // looks at the lease for as long as it was promised
		}
	}
	if promised == 0 {
		t.Error("no renewal was answered, so nothing was shown")
	}
}

package etcd

import (
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

// boundTo is the etcd lease of a resource's key, and how long it lasts at least.
func boundTo(t testing.TB, s *Store, resource string) (clientv3.LeaseID, time.Duration) {
	t.Helper()
	found, err := s.backend.client.Get(t.Context(), s.backend.keys.lease(resource))
	if err != nil || len(found.Kvs) != 1 {
		t.Fatalf("Get = %+v, %v; want a key", found, err)
	}
	id := clientv3.LeaseID(found.Kvs[0].Lease)
	left, err := s.backend.client.TimeToLive(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return id, time.Duration(left.TTL) * time.Second
}

// etcd tells less than what remains, by up to a second. What was told to the holder
// before stands, whoever asks meanwhile.
func TestLastSecondIsTheHolders(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	var names prefixes
	near := func(t *testing.T) (s *Store, g leasehold.Grant, until time.Time) {
		s = openOn(t, client, &Options{Prefix: names.next()})
		const ttl = 3 * time.Second
		until = time.Now().Add(ttl)
		g = acquire(t, s, "r", ttl)
		process.Eventually(t, "less than a second remains", func() bool { _, left := boundTo(t, s, "r"); return left == 0 })
		return s, g, until
	}
	stillHeld := func(t *testing.T, s *Store, until time.Time) {
		t.Helper()
		_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "other", TTL: 3 * time.Second})
		early := time.Until(until)
		if early > 0 && !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("Acquire by another = %v, %v before the end that the holder was told", err, early)
		}
	}
	period := time.Minute
	for what, c := range map[string]struct {
		call func(*Store, leasehold.Grant) (leasehold.Lease, error)
		want leasehold.State
	}{
		"change": {func(s *Store, g leasehold.Grant) (leasehold.Lease, error) {
			return s.Change(t.Context(), leasehold.ChangeRequest{ID: g.ID, Resource: "r", Proposed: leasehold.NewID()})
		}, leasehold.StateActive},
		"transfer": {func(s *Store, g leasehold.Grant) (leasehold.Lease, error) {
			return s.Transfer(t.Context(), leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "new", Proposed: leasehold.NewID()})
		}, leasehold.StateActive},
		"break": {func(s *Store, _ leasehold.Grant) (leasehold.Lease, error) {
			return s.Break(t.Context(), leasehold.BreakRequest{Resource: "r", Period: &period})
		}, leasehold.StateBreaking},
	} {
		t.Run(what, func(t *testing.T) {
			for try := 0; ; try++ {
				s, g, until := near(t)
				l, err := c.call(s, g)
				if err != nil && time.Now().After(until) && try < 10 {
					continue // the machine was too busy: it has ended
				}
				if err != nil || l.State != c.want || l.Remaining <= 0 {
					t.Errorf("%s = %+v, %v; want it %v", what, l, err, c.want)
				}
				stillHeld(t, s, until)
				return
			}
		})
	}
}

// A break period that is longer than what remains leaves the end where it is.
func TestLongBreakPeriodKeepsTheEnd(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	acquire(t, s, "r", 10*time.Second)
	before, _ := boundTo(t, s, "r")
	process.Eventually(t, "time has passed", func() bool { _, left := boundTo(t, s, "r"); return left < 9*time.Second })
	period := time.Minute
	l, err := s.Break(t.Context(), leasehold.BreakRequest{Resource: "r", Period: &period})
	if err != nil || l.State != leasehold.StateBreaking || l.Remaining > 10*time.Second {
		t.Fatalf("Break = %+v, %v; want a breaking lease with its end", l, err)
	}
	if after, _ := boundTo(t, s, "r"); after != before {
		t.Errorf("the key is bound to etcd lease %x, and was to %x: it may end before what its holder was told", after, before)
	}
	period = 2 * time.Second
	if l, err = s.Break(t.Context(), leasehold.BreakRequest{Resource: "r", Period: &period}); err != nil || l.Remaining > 2*time.Second {
		t.Fatalf("Break = %+v, %v; want at most 2s left", l, err)
	}
	if after, _ := boundTo(t, s, "r"); after == before {
		t.Error("a shorter break period left the end where it was")
	}
	shorter, _ := boundTo(t, s, "r")
	period = time.Minute
	if l, err = s.Break(t.Context(), leasehold.BreakRequest{Resource: "r", Period: &period}); err != nil || l.Remaining > 3*time.Second {
		t.Fatalf("Break = %+v, %v; want at most 3s left", l, err)
	}
	if after, _ := boundTo(t, s, "r"); after != shorter {
		t.Error("a longer break period moved the end")
	}
}

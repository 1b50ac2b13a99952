package postgres

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

// A renewal whose answer comes after the old end is undone, but not if the lease was
// renewed once more meanwhile: that caller was told that it has it.
func TestLateRenewalLeavesALaterOneAlone(t *testing.T) {
	network := testserver.Proxy(t, server(t).Addr)
	o := &Options{Schema: newSchema()}
	slow, fast := openOn(t, newPool(t, network.Addr), o), openOn(t, newPool(t, server(t).Addr), o)
	const ttl = 3 * time.Second // in which a busy machine stores the late renewal
	g := acquire(t, slow, "r", "a", ttl)
	renew := func(s *Store, ttl time.Duration) error {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", TTL: ttl})
		return err
	}
	must(t, renew(slow, 0)) // which prepares the statement
	network.Delay(time.Minute, 0)
	late := make(chan error, 1)
	go func() { late <- renew(slow, time.Minute) }()
	process.Eventually(t, "the late renewal is stored", func() bool {
		s, err := fast.Status(t.Context(), "r")
		return err == nil && s.Lease.Renewals == 2
	})
	must(t, renew(fast, time.Minute))
	time.Sleep(ttl) // the end before the late renewal is past
	network.Heal()
	if err := <-late; err == nil {
		t.Error("the late renewal succeeded; want an error, as nobody knows whether its lease was seen as ended")
	}
	if s, err := fast.Status(t.Context(), "r"); err != nil || s.Lease.State != leasehold.StateActive {
		t.Errorf("Status = %+v, %v; want an active lease: its renewal was acknowledged", s.Lease, err)
	}
	if _, err := fast.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b", TTL: time.Minute}); leasehold.ReasonOf(err) != leasehold.ReasonHeld {
		t.Errorf("Acquire of another holder = %v, want held", err)
	}
}

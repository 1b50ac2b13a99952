package azblob_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// heldBy expects that the lease is the current one, whichever process looks, and
// that its owner can still renew it.
func (s *scene) heldBy(l leasehold.Lease) {
	s.Helper()
	if st, err := s.other.Status(s.Context(), l.Resource); err != nil || !st.Check(l.Token) {
		s.Errorf("Status = %+v, %v; want token %d", st.Lease, err, l.Token)
	}
	if _, err := s.other.Renew(s.Context(), leasehold.RenewRequest{Resource: l.Resource, ID: l.ID}); err != nil {
		s.Errorf("Renew = %v, want success", err)
	}
}

// acquiredAgain acquires "r" elsewhere with an id that was used before.
func (s *scene) acquiredAgain(id leasehold.ID) leasehold.Lease {
	s.Helper()
	g, err := s.other.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "next", ID: id, TTL: longest})
	if err != nil || g.Token <= s.lease.Token {
		s.Fatalf("Acquire = token %d, %v; want one above %d", g.Token, err, s.lease.Token)
	}
	return g.Lease
}

// TestLateRelease: the second call of a release arrives when the resource is
// leased again, with the same id.
func TestLateRelease(t *testing.T) {
	inScene(t, func(s *scene) {
		var late lateCall
		s.faults.set(onceFor("release", fault{late: &late}))
		s.wantReason("release", operations["release"](s), "")
		l := s.acquiredAgain(s.lease.ID)
		late.deliver(s.TB)
		s.heldBy(l)
	})
}

// TestLateUndo: a renewal that came too late is undone by a release, which arrives
// when the resource is leased again, with the same id.
func TestLateUndo(t *testing.T) {
	inScene(t, func(s *scene) {
		time.Sleep(longest - 3*time.Second)
		var late lateCall
		s.faults.set(func(r *http.Request) fault {
			switch callOf(r) {
			case "renew":
				return fault{before: func() { time.Sleep(3 * time.Second) }}
			case "release":
				return fault{late: &late}
			}
			return fault{}
		})
		s.wantReason("renew", operations["renew"](s), leasehold.ReasonUnknown)
		s.faults.set(nil)
		time.Sleep(longest + time.Second)
		l := s.acquiredAgain(s.lease.ID)
		late.deliver(s.TB)
		s.heldBy(l)
	})
}

// TestLateChange: a change whose answer was lost arrives when the resource is
// leased again, with the same id.
func TestLateChange(t *testing.T) {
	inScene(t, func(s *scene) {
		var late lateCall
		s.faults.set(alwaysFor("change", fault{late: &late}))
		s.wantReason("change", operations["change"](s), leasehold.ReasonUnknown)
		s.faults.set(nil)
		s.wantReason("release", operations["release"](s), "")
		l := s.acquiredAgain(s.lease.ID)
		late.deliver(s.TB)
		s.heldBy(l)
	})
}

// TestLateLease: the call that grants arrives when its sender has been told that it
// failed. What nobody received is not granted, also without an end.
func TestLateLease(t *testing.T) {
	inScene(t, func(s *scene) {
		var late lateCall
		s.faults.set(alwaysFor("acquire", fault{late: &late}))
		_, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "free", Holder: "h", TTL: leasehold.Infinite})
		s.wantReason("acquire", err, leasehold.ReasonUnknown)
		time.Sleep(time.Second)
		s.faults.set(nil)
		if status := late.deliver(s.TB); status != 412 {
			s.Errorf("the late call was answered %d, want 412", status)
		}
		if st, err := s.other.Status(s.Context(), "free"); err != nil || st.Locked() {
			s.Errorf("Status = %+v, %v; want free", st.Lease, err)
		}
	})
}

// TestLateRenewalOfNobody: a renewal arrives long after the lease has ended, and
// the service brings that back. It is over after its ttl, and its owner does not
// get it.
func TestLateRenewalOfNobody(t *testing.T) {
	inScene(t, func(s *scene) {
		var late lateCall
		s.faults.set(alwaysFor("renew", fault{late: &late}))
		s.wantReason("renew", operations["renew"](s), leasehold.ReasonUnknown)
		s.faults.set(nil)
		time.Sleep(2 * longest)
		late.deliver(s.TB)
		s.wantReason("renew", operations["renew"](s), leasehold.ReasonExpired)
		s.acquiredAgain(leasehold.NewID())
	})
}

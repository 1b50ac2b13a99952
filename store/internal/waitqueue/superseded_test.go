package waitqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// A client that repeats its request, because it lost the connection or leaves the
// wait, takes over its own place.
func TestSameIDTakesThePlaceOver(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		r := request("first")
		r.ID = leasehold.NewID()
		older := s.wait(r)
		second := s.wait(request("second"))
		newer := s.wait(r)
		older.refused(leasehold.ReasonSuperseded)
		newer.still()
		newest := s.wait(r)
		newer.refused(leasehold.ReasonSuperseded)
		s.free()
		s.queues.Wake("r")
		newest.granted()
		second.still()
		if got := s.reported(); len(got) != 0 {
			t.Errorf("failed waits = %q, want none: the wait went on", got)
		}
	})
}

// One that is taken over while it tries keeps what it got.
func TestSupersededDuringATry(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		r := request("first")
		r.ID = leasehold.NewID()
		older := s.wait(r)
		s.delay = time.Second
		s.free()
		s.queues.Wake("r")
		synctest.Wait() // its try is under way
		newer := s.start(r)
		a, b := older.granted(), newer.granted()
		if a.Token != b.Token || !b.Idempotent {
			t.Errorf("tokens %d and %d, idempotent %v; want one lease", a.Token, b.Token, b.Idempotent)
		}
	})
}

// repeat is try for a request that may have the lease already.
func (s *service) repeat(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.held:
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonHeld}
	case s.lease.ID == r.ID:
		return leasehold.Grant{Lease: s.lease, Idempotent: true}, nil
	}
	current := s.lease
	current.ID, current.Remaining = leasehold.ID{}, leasehold.Infinite
	return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonHeld, Current: &current}
}

// A waiter with an id tries as it joins, and must not take what was freed for the
// first one, even before that is woken.
func TestJoiningDoesNotOvertake(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		first := s.wait(request("first"))
		s.delay = time.Second // the joining try is on its way
		r := request("joiner")
		r.ID = leasehold.NewID()
		joiner := s.start(r)
		synctest.Wait()
		s.free() // at the service; nobody was woken yet
		time.Sleep(3 * time.Second)
		if g := first.granted(); g.Waited != time.Second {
			t.Errorf("the first one tried after %v, want 1s: when the joining try had seen that it is free", g.Waited)
		}
		joiner.still()
		again := s.start(withID(request("first"), first.grant.ID))
		if g := again.granted(); !g.Idempotent || g.Token != first.grant.Token {
			t.Errorf("a repeated request = %+v, want the lease that it has", g)
		}
	})
}

// A try that is due comes before those of joiners: a release is not held up by
// them.
func TestDueTryComesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		first := s.wait(request("first"))
		s.delay = time.Second
		var joiners []*waiting
		for range 5 {
			joiners = append(joiners, s.start(withID(request("joiner"), leasehold.NewID())))
		}
		synctest.Wait() // one of them tries
		s.free()
		s.queues.Wake("r")
		if g := first.granted(); g.Waited != time.Second {
			t.Errorf("the first one tried after %v, want 1s: after the one try under way", g.Waited)
		}
		for _, w := range joiners {
			w.still()
		}
	})
}

func withID(r leasehold.AcquireRequest, id leasehold.ID) leasehold.AcquireRequest {
	r.ID = id
	return r
}

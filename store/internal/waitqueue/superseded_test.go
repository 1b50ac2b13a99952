package waitqueue

import (
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

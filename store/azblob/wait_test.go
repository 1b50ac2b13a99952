package azblob_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// waiting is one call of Wait under way.
type waiting struct {
	grant leasehold.Grant
	err   error
	done  chan struct{}
}

func (s *scene) waits(holder string, id leasehold.ID) *waiting {
	w := &waiting{done: make(chan struct{})}
	r := leasehold.AcquireRequest{Resource: "r", Holder: holder, ID: id, TTL: shortest, Timeout: 20 * time.Minute}
	go func() {
		defer close(w.done)
		w.grant, w.err = s.Wait(s.Context(), r)
	}()
	synctest.Wait()
	return w
}

func (w *waiting) granted(t testing.TB, who string) leasehold.Grant {
	t.Helper()
	select {
	case <-w.done:
	default:
		t.Fatalf("%s still waits, want a grant", who)
	}
	if w.err != nil {
		t.Fatalf("Wait of %s = %v, want a grant", who, w.err)
	}
	return w.grant
}

// TestJoiningDoesNotOvertake: a waiter with an id tries as it joins, and must not
// take what another process freed before the first waiter has seen it.
func TestJoiningDoesNotOvertake(t *testing.T) {
	inScene(t, func(s *scene) {
		first := s.waits("first", leasehold.ID{})
		s.meanwhile("release") // nobody here is woken
		joiner := s.waits("joiner", leasehold.NewID())
		time.Sleep(time.Second)
		g := first.granted(s.TB, "the first")
		select {
		case <-joiner.done:
			s.Fatalf("Wait of the joiner = %+v, %v; want it to wait behind the first", joiner.grant, joiner.err)
		default:
		}
		repeated := s.waits("first", g.ID)
		time.Sleep(time.Second)
		if again := repeated.granted(s.TB, "the first, asking again"); !again.Idempotent || again.Token != g.Token {
			t.Errorf("a repeated request = %+v, want the lease that it has", again)
		}
		if _, err := s.Release(s.Context(), leasehold.ReleaseRequest{Resource: "r", ID: g.ID}); err != nil {
			s.Fatal(err)
		}
		time.Sleep(time.Second)
		joiner.granted(s.TB, "the joiner")
	})
}

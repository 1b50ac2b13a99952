package cas_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// waiting is a Wait under way.
type waiting struct {
	e     *env
	done  chan struct{}
	grant leasehold.Grant
	err   error
}

// wait starts a wait and returns when it is in the queue, or has its answer.
func (e *env) wait(s *cas.Store, r leasehold.AcquireRequest) *waiting {
	if r.Timeout == 0 {
		r.Timeout = leasehold.NoTimeout
	}
	w := &waiting{e: e, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(e.Context())
	go func() {
		defer close(w.done)
		w.grant, w.err = s.Wait(ctx, r)
	}()
	e.Cleanup(func() { cancel(); <-w.done })
	synctest.Wait()
	return w
}

func (w *waiting) granted() leasehold.Grant {
	w.e.Helper()
	<-w.done
	if w.err != nil {
		w.e.Fatalf("Wait = %v, want a grant", w.err)
	}
	return w.grant
}

func (w *waiting) still() {
	w.e.Helper()
	synctest.Wait()
	select {
	case <-w.done:
		w.e.Fatalf("Wait = %q, %v; want it to wait on", w.grant.Holder, w.err)
	default:
	}
}

// Another process frees the resource, and nobody here knows. A waiter that joins
// with an id of its own may not get it before the first one.
func TestJoiningWithAnIDDoesNotOvertake(t *testing.T) {
	inBubble(t, func(e *env) {
		other := cas.New(finding{service: e.service}, nil)
		defer other.Close()
		r := request("other")
		r.TTL = time.Hour
		g, err := other.Acquire(e.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		first := e.wait(e.store, request("first"))
		if _, err := other.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
			t.Fatal(err)
		}
		r = request("joiner")
		r.ID = leasehold.NewID()
		joiner := e.wait(e.store, r)
		joiner.still()
		got := first.granted()
		if got.Waited != 0 {
			t.Errorf("the first one waited %v, want none: the joining try has seen that the resource is free", got.Waited)
		}
		if _, err := e.release(got); err != nil {
			t.Fatal(err)
		}
		if got := joiner.granted(); got.ID != r.ID {
			t.Error("the joiner has another id than it proposed")
		}
	})
}

// A repeated request gets its own lease though others wait, and a spent id is
// refused at once.
func TestJoiningWithAnIDThatIsKnown(t *testing.T) {
	inBubble(t, func(e *env) {
		r := request("h")
		r.ID, r.TTL = leasehold.NewID(), time.Hour
		first, err := e.store.Acquire(e.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		waiter := e.wait(e.store, request("w"))
		if g := e.wait(e.store, r).granted(); !g.Idempotent || g.Token != first.Token || g.Renewals != 1 {
			t.Errorf("Wait again = %+v, want the lease that is held, renewed", g)
		}
		spent := request("x")
		spent.ID = leasehold.NewID()
		elsewhere := spent
		elsewhere.Resource = "s"
		g, err := e.store.Acquire(e.Context(), elsewhere)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "s"}); err != nil {
			t.Fatal(err)
		}
		w := e.wait(e.store, spent)
		<-w.done
		e.want("Wait with a spent id", w.err, leasehold.ReasonReleased)
		waiter.still()
	})
}

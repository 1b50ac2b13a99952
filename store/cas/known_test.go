package cas_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// costs expects what the calls since the last time have cost.
func (e *env) costs(what string, loads, finds, swaps int) {
	e.Helper()
	if l, f, s := e.service.counted(); l != loads || f != finds || s != swaps {
		e.Errorf("%s: %d reads, %d queries, %d writes; want %d, %d, %d", what, l, f, s, loads, finds, swaps)
	}
}

// What this store has just written it need not read.
func TestReadInHand(t *testing.T) {
	inBubble(t, func(e *env) {
		r := request("h")
		r.Metadata = map[string]string{"k": "v"}
		g, err := e.store.Acquire(e.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		e.costs("the first acquire", 1, 0, 1)
		g.Metadata["k"] = "changed in the caller's own copy"
		if _, err := e.renew(g); err != nil {
			t.Fatal(err)
		}
		e.costs("a renewal at once", 0, 0, 1)
		if l := e.status().Lease; l.Metadata["k"] != "v" {
			t.Errorf("metadata = %q, want what was granted", l.Metadata)
		}
		e.costs("status", 1, 0, 0)
		if _, err := e.store.Acquire(e.Context(), request("other")); leasehold.ReasonOf(err) != leasehold.ReasonHeld {
			t.Errorf("Acquire = %v, want held", err)
		}
		e.costs("a refusal, which is never given from memory", 1, 0, 0)
		if _, err := e.renew(g); err != nil {
			t.Fatal(err)
		}
		e.costs("the next one", 1, 0, 1)
		time.Sleep(499 * time.Millisecond)
		if l, err := e.renew(g); err != nil || l.Remaining != l.TTL-499*time.Millisecond {
			t.Errorf("Renew = %v of %v, %v; want what the service says", l.Remaining, l.TTL, err)
		}
		e.costs("a renewal soon", 0, 0, 1)
		time.Sleep(500 * time.Millisecond)
		if l, err := e.renew(g); err != nil || l.Remaining != l.TTL {
			t.Errorf("Renew = %v of %v, %v; want all of it", l.Remaining, l.TTL, err)
		}
		e.costs("a renewal later", 1, 0, 1)
		if _, err := e.release(g); err != nil {
			t.Fatal(err)
		}
		e.acquire("next")
		e.costs("a release and the next grant", 0, 0, 2)
	})
}

// Another process has changed what this one has in hand.
func TestInHandAndOthers(t *testing.T) {
	inBubble(t, func(e *env) {
		other := cas.New(finding{service: e.service}, nil)
		defer other.Close()
		breakIt := func() {
			t.Helper()
			if _, err := other.Break(e.Context(), leasehold.BreakRequest{Resource: "r"}); err != nil {
				t.Fatal(err)
			}
		}
		g := e.acquire("h")
		breakIt()
		_, err := e.renew(g)
		e.want("Renew of a broken lease", err, leasehold.ReasonBroken)
		g = e.acquire("h")
		breakIt()
		taken, err := other.Acquire(e.Context(), request("other"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.release(g)
		e.want("Release of a lease that is gone", err, leasehold.ReasonNotFound)
		_, err = e.store.Acquire(e.Context(), request("h"))
		if held := e.want("Acquire", err, leasehold.ReasonHeld); held.Current.Token != taken.Token {
			t.Errorf("held by token %d, want %d", held.Current.Token, taken.Token)
		}
		breakIt()
		e.acquire("h")
		breakIt()
		e.acquire("h again") // in hand it is still held
	})
}

// An id that this store has written is found without a query, and with one where
// it is no longer there.
func TestIDsInHand(t *testing.T) {
	inBubble(t, func(e *env) {
		other := cas.New(finding{service: e.service}, nil)
		defer other.Close()
		r := request("h")
		r.ID = leasehold.NewID()
		if _, err := e.store.Acquire(e.Context(), r); err != nil {
			t.Fatal(err)
		}
		e.costs("an acquire with an id", 1, 1, 1)
		if _, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: r.ID}); err != nil {
			t.Fatal(err)
		}
		e.costs("a renewal by its id", 0, 0, 1)
		if l, err := e.store.Find(e.Context(), r.ID); err != nil || l.Resource != "r" {
			t.Fatalf("Find = %+v, %v", l, err)
		}
		e.costs("find", 1, 0, 0)
		e.service.find = func() error { return down }
		again := r
		again.Resource = "s"
		_, err := e.store.Acquire(e.Context(), again)
		e.want("Acquire without a query", err, leasehold.ReasonUnavailable)
		e.service.find = nil
		e.service.counted()

		if _, err := other.Release(e.Context(), leasehold.ReleaseRequest{ID: r.ID, Resource: "r"}); err != nil {
			t.Fatal(err)
		}
		_, err = e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: r.ID})
		e.want("Release of a released lease", err, leasehold.ReasonReleased)
		e.acquire("next")
		time.Sleep(2 * time.Hour) // so that the id is forgotten
		if _, err := other.Acquire(e.Context(), again); err != nil {
			t.Fatal(err)
		}
		if l, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: r.ID}); err != nil || l.Resource != "s" {
			t.Errorf("Renew of an id that is elsewhere by now = %+v, %v", l, err)
		}
		_, err = e.store.Renew(e.Context(), leasehold.RenewRequest{ID: leasehold.NewID()})
		e.want("Renew of an unknown id", err, leasehold.ReasonNotFound)
	})
}

// blind is a service whose queries lag behind for ever.
type blind struct{ finding }

func (blind) Find(context.Context, leasehold.ID) ([]cas.Item, error) { return nil, nil }

// A query that does not see this store's own write must not let an id be used
// twice.
func TestQueryThatLagsBehind(t *testing.T) {
	withBackend(t, func(s *service) cas.Backend { return blind{finding{service: s}} }, func(e *env) {
		r := request("h")
		r.ID = leasehold.NewID()
		if _, err := e.store.Acquire(e.Context(), r); err != nil {
			t.Fatal(err)
		}
		s := r
		s.Resource = "s"
		_, err := e.store.Acquire(e.Context(), s)
		e.want("Acquire", err, leasehold.ReasonIDInUse)
		if l, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: r.ID}); err != nil || l.Resource != "r" {
			t.Errorf("Release by the id = %+v, %v", l, err)
		}
		_, err = e.store.Acquire(e.Context(), s)
		e.want("Acquire", err, leasehold.ReasonReleased)
		e.service.setLoad(func(resource string) error {
			if resource == "r" {
				return down
			}
			return nil
		})
		_, err = e.store.Acquire(e.Context(), s)
		e.want("Acquire while that is not known", err, leasehold.ReasonUnavailable)
	})
}

// A waiter with an id looks for it once, and again when it can get the lease.
func TestWaiterLooksForItsIDOnce(t *testing.T) {
	inBubble(t, func(e *env) {
		r := request("h")
		r.TTL = time.Hour
		g, err := e.store.Acquire(e.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		e.service.counted()
		r = request("w")
		r.ID = leasehold.NewID()
		w := e.wait(e.store, r)
		e.costs("a waiter that comes", 1, 1, 0)
		time.Sleep(time.Minute)
		if loads, finds, _ := e.service.counted(); finds != 0 || loads < 8 || loads > 16 {
			t.Errorf("%d reads and %d queries in a minute of waiting, want about 12 and none", loads, finds)
		}
		if _, err := e.release(g); err != nil {
			t.Fatal(err)
		}
		w.granted()
		if _, finds, _ := e.service.counted(); finds != 1 {
			t.Errorf("%d queries for the grant, want one", finds)
		}
	})
}

// Two that propose one id for two resources at once see each other.
func TestOneIDForTwoResources(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.beforeSwap = func(int, cas.Write) error { time.Sleep(time.Second); return nil }
		id := leasehold.NewID()
		errs := make(chan error, 2)
		for _, name := range []string{"r", "s"} {
			go func() {
				_, err := e.store.Acquire(e.Context(), leasehold.AcquireRequest{Resource: name, Holder: "h", ID: id, TTL: time.Minute})
				errs <- err
			}()
		}
		one, other := <-errs, <-errs
		if one != nil {
			one, other = other, one
		}
		if one != nil {
			t.Errorf("Acquire = %v and %v, want one lease", one, other)
		}
		e.want("the other Acquire", other, leasehold.ReasonIDInUse)
	})
}

// If two processes did get leases with the same id, the one that lives counts.
func TestLiveLeaseIsFoundFirst(t *testing.T) {
	for range 20 { // the order of what is found is random
		inBubble(t, func(e *env) {
			id := leasehold.NewID()
			for _, name := range []string{"r", "s"} {
				bare := cas.New(e.service, nil) // which cannot find ids
				if _, err := bare.Acquire(e.Context(), leasehold.AcquireRequest{Resource: name, Holder: "h", ID: id, TTL: time.Minute}); err != nil {
					t.Fatal(err)
				}
				bare.Close()
			}
			if _, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: id, Resource: "r"}); err != nil {
				t.Fatal(err)
			}
			fresh := cas.New(finding{service: e.service}, nil)
			defer fresh.Close()
			if l, err := fresh.Find(e.Context(), id); err != nil || l.Resource != "s" {
				t.Fatalf("Find = %q, %v; want the live one", l.Resource, err)
			}
		})
	}
}

// What is kept in hand does not grow.
func TestKnownIsBounded(t *testing.T) {
	inBubble(t, func(e *env) {
		var first, recent leasehold.Grant
		for i := range 20_002 {
			r := request("h")
			r.Resource = fmt.Sprint("r", i)
			g, err := e.store.Acquire(e.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			switch i {
			case 0:
				first = g
			case 15_000:
				recent = g
			}
		}
		e.service.counted()
		if _, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: first.ID}); err != nil {
			t.Fatal(err)
		}
		e.costs("a renewal of the oldest by its id", 1, 1, 1)
		if _, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: recent.ID}); err != nil {
			t.Fatal(err)
		}
		e.costs("a renewal of a later one", 1, 0, 1)
	})
}

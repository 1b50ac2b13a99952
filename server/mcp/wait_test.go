package mcp

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
)

// TestCancel: a client that cancels a wait leaves no waiter and no lease, unless it
// knows the lease id: then its place is kept.
func TestCancel(t *testing.T) {
	eachTransport(t, Options{}, func(w *world, connect func(string) agent) {
		anna, ben, carl := connect("anna"), connect("ben"), connect("carl")
		held := anna.call("lease_acquire", args{"resources": []string{"r"}})
		id := leasehold.NewID().Reveal()
		known := ben.start("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50, "lease_id": id})
		synctest.Wait()
		unknown := carl.start("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50})
		synctest.Wait()
		if n := len(w.status("r").Waiters); n != 2 {
			t := w.T
			t.Fatalf("%d wait, want 2", n)
		}
		known.cancel()
		unknown.cancel()
		<-known.done
		<-unknown.done
		synctest.Wait()
		if waiters := w.status("r").Waiters; len(waiters) != 0 {
			w.Errorf("after the cancel %+v wait, want nobody", waiters)
		}
		if n := w.server.waiters.Size(); n != 0 {
			w.Errorf("%d calls count as waiting, want none", n)
		}
		last := carl.start("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50})
		synctest.Wait()
		back := ben.start("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50, "lease_id": id})
		synctest.Wait()
		anna.call("lease_release", args{"lease_id": held.LeaseID})
		got := <-back.done
		if !got.Granted {
			w.Errorf("ben = %+v, want the grant at his old place", got)
		}
		ben.call("lease_release", args{"lease_id": id})
		if r := <-last.done; !r.Granted {
			w.Errorf("carl = %+v, want a grant", r)
		}
	})
}

// TestSuperseded: a newer call with the same id gets the place.
func TestSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, Options{})
		defer w.end()
		anna, ben := w.web(auth.Local, holderHeader("anna"), ""), w.web(auth.Local, holderHeader("ben"), "")
		anna.call("lease_acquire", args{"resources": []string{"r"}})
		in := args{"resources": []string{"r"}, "wait_seconds": 50, "lease_id": leasehold.NewID().Reveal()}
		older := ben.start("lease_acquire", in)
		synctest.Wait()
		newer := ben.start("lease_acquire", in)
		if r := <-older.done; r.Code != "superseded" || !strings.Contains(r.NextStep, "Wait for its answer") {
			t.Errorf("the older call = %+v", r)
		}
		newer.cancel()
		<-newer.done
	})
}

// TestStreamEnds: the end of the input ends waits at once, and releases what the client
// has, also what it was granted last.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, Options{})
		defer w.end()
		other, _ := w.stream(Stream{Identity: Identity{Holder: "other"}}, "")
		other.call("lease_acquire", args{"resources": []string{"busy"}})
		for _, keep := range []bool{false, true} {
			a, end := w.stream(Stream{Identity: Identity{Holder: "anna"}, Keep: keep}, "")
			a.call("lease_acquire", args{"resources": []string{"r"}})
			two := a.call("lease_acquire", args{"resources": []string{"s"}})
			a.call("lease_release", args{"lease_id": two.LeaseID})
			a.start("lease_acquire", args{"resources": []string{"busy"}, "wait_seconds": 50})
			synctest.Wait()
			start := time.Now()
			if err := end(); err != nil || time.Since(start) > time.Second {
				t.Errorf("the end = %v after %v, want nil at once", err, time.Since(start))
			}
			if got := w.status("r").Locked(); got != keep {
				t.Errorf("keep = %t: r is locked = %t", keep, got)
			}
			if s := w.status("busy"); len(s.Waiters) != 0 {
				t.Errorf("%+v wait, want nobody", s.Waiters)
			}
		}
		page, err := w.store.(leasehold.Historian).History(t.Context(), leasehold.HistoryRequest{Resource: "r", Kind: leasehold.KindReleased})
		if err != nil || len(page.Records) != 1 || page.Records[0].Why != whySessionEnded {
			t.Errorf("the history = %+v, %v, want one release, with its reason", page.Records, err)
		}
	})
}

// TestContextEndsStream is a signal to the program.
func TestContextEndsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, Options{})
		defer w.end()
		ctx, cancel := context.WithCancel(t.Context())
		in, out := newSilence()
		done := make(chan error, 1)
		go func() {
			done <- w.server.ServeStream(ctx, Stream{Identity: Identity{Holder: "anna", Caller: auth.Local}, In: in, Out: out})
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeStream = %v, want a clean end", err)
		}
		in.Close()
		if err := w.server.ServeStream(t.Context(), Stream{}); err == nil {
			t.Error("ServeStream without a holder = nil, want an error")
		}
	})
}

// TestDrain: a server that shuts down answers its waiters, and starts no more waits.
func TestDrain(t *testing.T) {
	eachTransport(t, Options{}, func(w *world, connect func(string) agent) {
		anna, ben := connect("anna"), connect("ben")
		held := anna.call("lease_acquire", args{"resources": []string{"r"}})
		in := args{"resources": []string{"r"}, "wait_seconds": 50}
		p := ben.start("lease_acquire", in)
		synctest.Wait()
		w.server.Drain()
		first := <-p.done
		for _, r := range []Result{first, ben.failure("lease_acquire", in)} {
			if r.Code != "store_unavailable" || r.LeaseID == "" || !strings.Contains(r.Message, "shutting down") || !strings.Contains(r.NextStep, "again in 1s") {
				w.Errorf("the wait = %+v, want that the server shuts down", r)
			}
		}
		if r := anna.call("lease_release", args{"lease_id": held.LeaseID}); r.Status != "released" {
			w.Errorf("release = %+v, want that it still works", r)
		}
	})
}

// TestTooManyWaiters: one token cannot fill the queues.
func TestTooManyWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, Options{MaxWaitersPerCaller: 1})
		defer w.end()
		anna, ben := w.web(auth.Local, holderHeader("anna"), ""), w.web(auth.Local, holderHeader("ben"), "")
		anna.call("lease_acquire", args{"resources": []string{"r"}})
		in := args{"resources": []string{"r"}, "wait_seconds": 50}
		p := ben.start("lease_acquire", in)
		synctest.Wait()
		if r := anna.failure("lease_acquire", args{"resources": []string{"r", "s"}, "wait_seconds": 50}); r.Code != "rate_limited" {
			t.Errorf("a second wait = %+v, want rate_limited", r)
		}
		p.cancel()
		<-p.done
	})
}

// plain is a store without a queue, and without any other power.
type plain struct{ leasehold.Store }

// TestNoQueue: on a store without a queue a wait tries again and again.
func TestNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		w := newWorld(t, plain{store}, Options{})
		defer w.end()
		anna, ben := w.web(auth.Local, holderHeader("anna"), ""), w.web(auth.Local, holderHeader("ben"), "")
		held := anna.call("lease_acquire", args{"resources": []string{"r"}, "ttl_seconds": 300})
		start := time.Now()
		r := ben.call("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50})
		if took := time.Since(start); r.Code != "lease_held" || took != 50*time.Second {
			t.Errorf("the wait = %+v after %v, want a conflict after 50s", r, took)
		}
		p := ben.start("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50})
		time.Sleep(5 * time.Second)
		anna.call("lease_release", args{"lease_id": held.LeaseID, "resource": "r"})
		if r := <-p.done; !r.Granted {
			t.Errorf("ben = %+v, want the grant", r)
		}
		p = anna.start("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50})
		time.Sleep(time.Second)
		p.cancel()
		<-p.done
		for tool, in := range map[string]args{"lease_status": {}, "lease_history": {}, "lease_break": {"resource": "r", "reason": "x"}} {
			if r := anna.failure(tool, in); r.Code != "unsupported" || r.NextStep == "" {
				t.Errorf("%s = %+v, want unsupported", tool, r)
			}
		}
	})
}

// stuck is a store that answers no acquire before its context ends.
type stuck struct{ leasehold.Store }

func (s stuck) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	<-ctx.Done()
	return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonCancelled, Op: "acquire", Cause: ctx.Err()}
}

// TestStuckStore: a store that does not answer is an unknown outcome after 5 s.
func TestStuckStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, stuck{memory.New()}, Options{})
		defer w.end()
		a, _ := w.stream(Stream{Identity: Identity{Holder: "anna"}}, "")
		start := time.Now()
		r := a.failure("lease_acquire", args{"resources": []string{"r"}})
		if took := time.Since(start); r.Code != "store_timeout" || took != 5*time.Second || !strings.Contains(r.NextStep, r.LeaseID) || r.LeaseID == "" {
			t.Errorf("acquire = %+v after %v, want store_timeout after 5s, with the id to try again with", r, took)
		}
	})
}

// TestConcurrentCalls: many agents at once, each with several calls under way, never
// hold the same resource at the same time.
func TestConcurrentCalls(t *testing.T) {
	const agents, rounds = 8, 5
	w := newWorld(t, nil, Options{})
	defer w.end()
	var held, granted sync.Map
	var all sync.WaitGroup
	for i := range agents {
		name := string(rune('a' + i))
		a := w.web(auth.Local, holderHeader(name), "")
		if i%2 == 0 {
			a, _ = w.stream(Stream{Identity: Identity{Holder: name}}, "")
		}
		all.Go(func() {
			for range rounds {
				r := a.call("lease_acquire", args{"resources": []string{"r"}, "wait_seconds": 50})
				if !r.Granted {
					w.Errorf("%s = %+v, want a grant", name, r)
					return
				}
				if other, twice := held.Swap("r", name); twice {
					w.Errorf("%s and %s hold it at the same time", name, other)
				}
				if _, twice := granted.Swap(r.Token, name); twice {
					w.Errorf("token %d was granted twice", r.Token)
				}
				a.call("lease_status", args{"resource": "r"})
				held.Delete("r")
				a.call("lease_release", args{"lease_id": r.LeaseID})
			}
		})
	}
	all.Wait()
}

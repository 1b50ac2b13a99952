package mcp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// eachTransport runs a test in a bubble over both transports, with every revision of
// the protocol. Connect makes a client that is configured to be the holder.
func eachTransport(t *testing.T, o Options, test func(w *world, connect func(holder string) agent)) {
	for _, version := range revisions {
		t.Run("stream "+version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, o)
				defer w.end()
				test(w, func(holder string) agent {
					a, _ := w.stream(Stream{Identity: Identity{Holder: holder}}, version)
					return a
				})
			})
		})
		t.Run("http "+version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, o)
				defer w.end()
				test(w, func(holder string) agent { return w.web(auth.Local, holderHeader(holder), version) })
			})
		})
	}
}

// TestFlow is acquire, conflict, a wait that ends after 50 s and keeps its place, and
// release.
func TestFlow(t *testing.T) {
	eachTransport(t, Options{}, func(w *world, connect func(string) agent) {
		anna, ben, carl, dora := connect("anna"), connect("ben"), connect("carl"), connect("dora")

		held := anna.call("lease_acquire", args{"resources": []string{"deploy:prod"}, "task": "release 1.2", "ttl_seconds": 600})
		if !held.Granted || held.LeaseID == "" || held.Token == 0 || held.HeldBy != "anna" || held.Remaining != 600 || held.ExpiresAt == "" {
			t.Fatalf("acquire = %+v, want a grant to anna for 600 s", held)
		}

		refused := ben.call("lease_acquire", args{"resources": []string{"deploy:prod"}})
		if refused.Granted || refused.Code != "lease_held" || refused.HeldBy != "anna" || refused.HeldFor != "release 1.2" ||
			refused.ExpiresAt != held.ExpiresAt || refused.Remaining == 0 || refused.LeaseID == held.LeaseID {
			t.Errorf("acquire of what anna holds = %+v, want who, what for and until when", refused)
		}
		if want := "wait_seconds 50 and lease_id \"" + refused.LeaseID + `"`; !strings.Contains(refused.NextStep, want) {
			t.Errorf("next_step = %q, want the next call with %s", refused.NextStep, want)
		}

		first := carl.start("lease_acquire", args{"resources": []string{"deploy:prod"}, "wait_seconds": 50})
		synctest.Wait()
		start := time.Now()
		queued := ben.call("lease_acquire", args{"resources": []string{"deploy:prod"}, "wait_seconds": 3600, "lease_id": refused.LeaseID})
		if waited := time.Since(start); waited != 50*time.Second {
			t.Errorf("the wait took %v, want 50s", waited)
		}
		if queued.Granted || queued.Code != "acquire_timeout" || queued.QueuePosition != 2 || queued.LeaseID != refused.LeaseID ||
			!strings.Contains(queued.NextStep, "Still queued, position 2") {
			t.Errorf("the wait = %+v, want position 2", queued)
		}
		back := <-first.done
		if back.QueuePosition != 1 {
			t.Errorf("carl's wait = %+v, want position 1", back)
		}

		last := dora.start("lease_acquire", args{"resources": []string{"deploy:prod"}, "wait_seconds": 50})
		synctest.Wait()
		again := ben.start("lease_acquire", args{"resources": []string{"deploy:prod"}, "wait_seconds": 50, "lease_id": queued.LeaseID})
		synctest.Wait()
		if waiters := w.status("deploy:prod").Waiters; len(waiters) != 2 || waiters[0].Holder != "ben" {
			t.Errorf("the queue = %+v, want ben before dora: his place is kept", waiters)
		}

		released := anna.call("lease_release", args{"lease_id": held.LeaseID, "note": "the database is at 42"})
		if released.Granted || released.Status != "released" {
			t.Errorf("release = %+v", released)
		}
		got := <-again.done
		if !got.Granted || got.LeaseID != refused.LeaseID || got.Token <= held.Token || len(got.Notes) != 1 || got.Notes[0].Text != "the database is at 42" {
			t.Errorf("ben = %+v, want the grant under his id, a larger token and anna's note", got)
		}
		ben.call("lease_release", args{"lease_id": got.LeaseID})
		if r := <-last.done; !r.Granted {
			t.Errorf("dora = %+v, want a grant", r)
		}
	})
}

// TestRepeat: an acquire with the same id restarts the ttl, and releases can be
// repeated.
func TestRepeat(t *testing.T) {
	eachTransport(t, Options{TTL: 20 * time.Second}, func(w *world, connect func(string) agent) {
		a := connect("anna")
		id := leasehold.NewID().Reveal()
		in := args{"resources": []string{"r"}, "lease_id": id}
		one := a.call("lease_acquire", in)
		time.Sleep(5 * time.Second)
		two := a.call("lease_acquire", in)
		if !one.Granted || !two.Granted || two.Token != one.Token || two.Remaining != 20 || one.LeaseID != id || two.LeaseID != id {
			t.Errorf("repeated = %+v after %+v, want the same grant with a new ttl", two, one)
		}
		time.Sleep(5 * time.Second)
		if r := a.call("lease_renew", args{"lease_id": id, "ttl_seconds": 30}); !r.Granted || r.Remaining != 30 || r.LeaseID != id {
			t.Errorf("renew = %+v, want 30 s", r)
		}
		for range 2 {
			if r := a.call("lease_release", args{"lease_id": id}); r.Status != "released" || r.Granted {
				t.Errorf("release = %+v", r)
			}
		}
		if r := a.failure("lease_renew", args{"lease_id": id}); r.Code != "lease_released" || !strings.Contains(r.NextStep, "stop changing") {
			t.Errorf("renew of a released lease = %+v", r)
		}
		if r := a.failure("lease_acquire", in); r.Code != "lease_released" || r.LeaseID != "" || !strings.Contains(r.NextStep, "without lease_id") {
			t.Errorf("acquire with a used id = %+v", r)
		}
	})
}

// TestDeadlock: a wait that could never end is refused at once, with the cycle and the
// way out, which works.
func TestDeadlock(t *testing.T) {
	eachTransport(t, Options{}, func(w *world, connect func(string) agent) {
		anna, ben := connect("anna"), connect("ben")
		x := anna.call("lease_acquire", args{"resources": []string{"x"}})
		y := ben.call("lease_acquire", args{"resources": []string{"y"}})
		waits := anna.start("lease_acquire", args{"resources": []string{"y"}, "wait_seconds": 50})
		synctest.Wait()
		start := time.Now()
		r := ben.call("lease_acquire", args{"resources": []string{"x"}, "wait_seconds": 50})
		if r.Granted || r.Code != "deadlock" || r.LeaseID != "" || time.Since(start) != 0 {
			t.Fatalf("ben's wait = %+v after %v, want a deadlock at once", r, time.Since(start))
		}
		want := []Edge{{"ben", "x", "anna"}, {"anna", "y", "ben"}}
		if len(r.Cycle) != 2 || r.Cycle[0] != want[0] || r.Cycle[1] != want[1] {
			t.Errorf("cycle = %+v, want %+v", r.Cycle, want)
		}
		if !strings.Contains(r.NextStep, `Release your lease on "y"`) || !strings.Contains(r.NextStep, `acquire "x" and what you released in one lease_acquire`) {
			t.Errorf("next_step = %q, want the way out", r.NextStep)
		}
		ben.call("lease_release", args{"lease_id": y.LeaseID})
		if r := <-waits.done; !r.Granted {
			t.Errorf("anna = %+v, want y", r)
		} else {
			anna.call("lease_release", args{"lease_id": r.LeaseID})
		}
		both := ben.start("lease_acquire", args{"resources": []string{"x", "y"}, "wait_seconds": 50})
		synctest.Wait()
		anna.call("lease_release", args{"lease_id": x.LeaseID})
		if r := <-both.done; !r.Granted || len(r.Covers) != 2 {
			t.Errorf("ben = %+v, want x and y", r)
		}
		if r := ben.call("lease_acquire", args{"resources": []string{"x"}, "wait_seconds": 50}); r.Code != "deadlock" || len(r.Cycle) != 1 || !strings.Contains(r.NextStep, "your own lease") {
			t.Errorf("a wait for oneself = %+v, want a cycle of one", r)
		}
	})
}

// TestPaths: the refusal names the part that overlaps, and a wait for paths has a
// position, too.
func TestPaths(t *testing.T) {
	eachTransport(t, Options{}, func(w *world, connect func(string) agent) {
		anna, ben := connect("anna"), connect("ben")
		held := anna.call("lease_acquire", args{"namespace": "shop", "paths": []string{"src/auth/**", "go.mod"}})
		if !held.Granted || len(held.Covers) != 2 {
			t.Fatalf("acquire = %+v", held)
		}
		r := ben.call("lease_acquire", args{"namespace": "shop", "paths": []string{"src/*/login.go"}, "wait_seconds": 10})
		want := Overlap{"shop src/*/login.go", "shop src/auth/**", "src/auth/login.go"}
		if r.Code != "acquire_timeout" || r.QueuePosition != 1 || r.HeldBy != "anna" {
			t.Errorf("the wait = %+v, want position 1 behind anna", r)
		}
		r = ben.call("lease_acquire", args{"namespace": "shop", "paths": []string{"src/*/login.go"}})
		if r.Overlap == nil || *r.Overlap != want || !strings.Contains(r.NextStep, `without "src/auth/login.go"`) {
			t.Errorf("acquire = %+v, want the overlap %+v", r, want)
		}
		anna.call("lease_release", args{"lease_id": held.LeaseID})
		one := anna.call("lease_acquire", args{"namespace": "shop", "paths": []string{"docs/**"}, "mode": "shared"})
		two := ben.call("lease_acquire", args{"namespace": "shop", "paths": []string{"docs/**"}, "mode": "shared"})
		if !one.Granted || !two.Granted {
			t.Errorf("shared = %+v and %+v, want both", one, two)
		}
		seen := ben.call("lease_status", args{"namespace": "shop", "path": "docs/api.md"})
		if len(seen.Leases) != 2 || seen.Leases[0].Yours == seen.Leases[1].Yours {
			t.Errorf("status of a path = %+v, want both leases, one of them ben's", seen.Leases)
		}
	})
}

package sets_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

// scenario runs a given history in a bubble. The driver compares each step with the
// model; the test says what the model should show.
func scenario(t *testing.T, sequence string, play func(d *driver)) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		defer d.close()
		for _, holder := range holders {
			d.sequence[holder] = sequence == "all" || sequence == holder
		}
		play(d)
	})
}

// acquire and wait are requests for long leases, at different milliseconds.
func (d *driver) acquire(holder string, claims ...leasehold.Claim) *call {
	return d.claim(leasehold.AcquireRequest{Holder: holder, Claims: claims, ID: d.nextID()}, false)
}

func (d *driver) wait(holder string, claims ...leasehold.Claim) *call {
	return d.claim(leasehold.AcquireRequest{Holder: holder, Claims: claims, ID: d.nextID()}, true)
}

func (d *driver) acquirePlain(holder, name string) *call {
	return d.claim(leasehold.AcquireRequest{Holder: holder, Resource: name, ID: d.nextID()}, false)
}

func (d *driver) waitPlain(holder, name string) *call {
	return d.claim(leasehold.AcquireRequest{Holder: holder, Resource: name, ID: d.nextID()}, true)
}

// modes requests a set again in other modes, all the same.
func (d *driver) modes(c *call, m leasehold.Mode, wait bool) *call {
	return d.claim(leasehold.AcquireRequest{Holder: c.Holder, Claims: inMode(m, c.Claims), ID: c.ID}, wait)
}

func (d *driver) claim(r leasehold.AcquireRequest, wait bool) *call {
	d.Helper()
	if r.TTL == 0 {
		r.TTL = time.Minute
	}
	r.Timeout = 3*time.Minute + 500*time.Millisecond
	c := d.start(r, wait)
	d.sleep(0)
	return c
}

func (d *driver) nextID() leasehold.ID {
	d.steps++
	return leasehold.ID{byte(d.steps)}
}

func inMode(m leasehold.Mode, claims []leasehold.Claim) []leasehold.Claim {
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].Mode = m
	}
	return claims
}

func shared(claims ...leasehold.Claim) []leasehold.Claim { return inMode(leasehold.Shared, claims) }

// release ends the lease of a call.
func (d *driver) release(c *call) {
	d.Helper()
	d.m.release(d.m.find(c.ID), "")
	if _, err := d.engine.Release(ctx(), leasehold.ReleaseRequest{ID: c.ID}); err != nil {
		d.fail("Release = %v", err)
	}
	d.verify()
	d.sleep(0)
}

// expect compares the answers of calls with a word each: "granted", "waits", or the
// reason of a refusal.
func (d *driver) expect(want map[*call]string) {
	d.Helper()
	for c, word := range want {
		got := "waits"
		switch {
		case c.done && c.err == nil:
			got = "granted"
		case c.done:
			got = string(leasehold.ReasonOf(c.err))
		}
		if got != word {
			d.fail("%s: %s, want %s", describe(c.AcquireRequest, true), got, word)
		}
	}
}

var (
	a, b, c = leasehold.Claim{Pattern: "a"}, leasehold.Claim{Pattern: "b"}, leasehold.Claim{Pattern: "c"}
	src     = leasehold.Claim{Namespace: "repo", Pattern: "a/**"}
	file    = leasehold.Claim{Namespace: "repo", Pattern: "a/b"}
)

// TestTwoHolders: A holds x and waits for y, B holds y and requests x: B is refused at
// once, with the cycle.
func TestTwoHolders(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		d.acquirePlain("ann", "a")
		d.acquire("bob", src)
		waiting := d.wait("ann", b, file)
		refused := d.wait("bob", a)
		d.expect(map[*call]string{waiting: "waits", refused: "deadlock"})
		want := []leasehold.WaitEdge{{Holder: "bob", Claim: a, HeldBy: "ann"}, {Holder: "ann", Claim: file, HeldBy: "bob"}}
		if diff := cmp.Diff(want, refused.err.(*leasehold.Error).Cycle); diff != "" {
			d.fail("the cycle (-want +got):\n%s", diff)
		}
		// Without waiting it is an ordinary refusal.
		d.expect(map[*call]string{d.acquire("bob", a): "lease_held"})
	})
	scenario(t, "ann", func(d *driver) { // bob has other work to do
		d.acquirePlain("ann", "a")
		d.acquire("bob", src)
		d.expect(map[*call]string{d.wait("ann", file): "waits", d.wait("bob", a): "waits"})
	})
}

// TestOwnLease: a holder that waits for its own lease waits for ever.
func TestOwnLease(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		d.acquire("ann", src)
		d.expect(map[*call]string{d.wait("ann", file): "deadlock", d.wait("ann", b): "granted"})
	})
}

// TestTwoUpgraders: each waits for the other to stop reading. One alone waits for the
// other readers, and not for who waits for it.
func TestTwoUpgraders(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		first, second := d.acquire("ann", shared(a)...), d.acquire("bob", shared(a)...)
		writer := d.wait("cyd", a)
		upgrade := d.modes(first, leasehold.Exclusive, true)
		refused := d.modes(second, leasehold.Exclusive, true)
		d.expect(map[*call]string{writer: "waits", upgrade: "waits", refused: "deadlock"})
		d.release(second)
		d.expect(map[*call]string{writer: "waits", upgrade: "granted"})
	})
}

// TestReservationClosesCycle: who stands before a waiter in the queue of a name is in
// its way, the first and those behind it.
func TestReservationClosesCycle(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		d.sequence["bob"] = false
		d.acquire("ann", shared(a)...)
		first, second := d.waitPlain("bob", "a"), d.waitPlain("cyd", "a")
		reader := d.wait("ann", shared(a)...)
		d.expect(map[*call]string{first: "waits", second: "waits", reader: "deadlock"})
	})
}

// TestGrantClosesCycle: what a holder gets while it waits may be what it waits for
// itself, over others.
func TestGrantClosesCycle(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		d.acquirePlain("ann", "a")
		other := d.acquirePlain("dan", "b")
		bob := d.wait("bob", b, c)
		ann := d.wait("ann", c)
		d.release(other) // bob gets b and c; ann waits for it
		d.expect(map[*call]string{bob: "granted", ann: "waits"})
		waiting := d.waitPlain("bob", "a")
		d.expect(map[*call]string{waiting: "deadlock"})
	})
	scenario(t, "all", func(d *driver) {
		d.acquirePlain("ann", "a")
		d.acquirePlain("dan", "c")
		waiting := d.waitPlain("bob", "a")
		ann := d.claim(leasehold.AcquireRequest{Holder: "ann", Claims: []leasehold.Claim{b, c}, TTL: 2 * time.Second}, true)
		d.sleep(3)                            // b is no longer kept for ann
		passing := d.acquirePlain("bob", "b") // although it waits: another of its requests
		d.expect(map[*call]string{passing: "granted", waiting: "deadlock", ann: "waits"})
	})
}

// TestSecondWaitClosesCycle: a holder that waits for one who then comes behind its second
// wait would wait for itself, by the first.
func TestSecondWaitClosesCycle(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		d.several = true
		d.acquirePlain("ann", "a")
		held := d.acquirePlain("dan", "c")
		first, ann := d.waitPlain("bob", "a"), d.waitPlain("ann", "c")
		urgent := leasehold.AcquireRequest{Holder: "bob", Claims: []leasehold.Claim{c}, ID: d.nextID(), Priority: 1}
		refused := d.claim(urgent, true)
		d.expect(map[*call]string{first: "waits", ann: "waits", refused: "deadlock"})
		want := []leasehold.WaitEdge{{Holder: "bob", Claim: a, HeldBy: "ann"}, {Holder: "ann", Claim: c, HeldBy: "bob"}}
		if diff := cmp.Diff(want, refused.err.(*leasehold.Error).Cycle); diff != "" {
			d.fail("the cycle (-want +got):\n%s", diff)
		}
		urgent.ID, urgent.Priority = d.nextID(), -1 // behind ann
		behind := d.claim(urgent, true)
		d.release(held)
		d.expect(map[*call]string{first: "waits", ann: "granted", behind: "waits"})
	})
}

// TestTransferClosesCycle: a lease cannot be given to a holder that waits for who waits
// for it.
func TestTransferClosesCycle(t *testing.T) {
	scenario(t, "all", func(d *driver) {
		lease := d.acquirePlain("ann", "a")
		d.acquire("bob", b)
		d.waitPlain("bob", "a")
		waiting := d.wait("cyd", b)
		_, err := d.engine.Transfer(ctx(), leasehold.TransferRequest{ID: lease.ID, To: "cyd"})
		if leasehold.ReasonOf(err) != leasehold.ReasonDeadlock {
			d.fail("Transfer to cyd = %v, want deadlock", err)
		}
		want := []leasehold.WaitEdge{{Holder: "cyd", Claim: b, HeldBy: "bob"}, {Holder: "bob", Claim: a, HeldBy: "cyd"}}
		if diff := cmp.Diff(want, err.(*leasehold.Error).Cycle); diff != "" {
			d.fail("the cycle (-want +got):\n%s", diff)
		}
		d.verify() // nothing has changed
		d.expect(map[*call]string{waiting: "waits"})
	})
}

// TestUpgradeOfWhatIsGone: who waits for other modes of a lease is refused when that
// lease ends, or is another's, whatever else it waits for.
func TestUpgradeOfWhatIsGone(t *testing.T) {
	for how, want := range map[string]string{"release": "lease_released", "break": "lease_broken", "transfer": "lease_released"} {
		scenario(t, "", func(d *driver) {
			own := d.acquire("ann", shared(a)...)
			d.acquire("bob", shared(a)...)
			upgrade := d.modes(own, leasehold.Exclusive, true)
			reader := d.wait("cyd", shared(a)...)
			d.expect(map[*call]string{upgrade: "waits", reader: "waits"})
			l := d.m.find(own.ID)
			var err error
			switch how {
			case "release":
				d.m.release(l, "")
				_, err = d.engine.Release(ctx(), leasehold.ReleaseRequest{ID: own.ID})
			case "break":
				d.m.breakLeases([]*lease{l}, 0)
				_, err = d.engine.Break(ctx(), leasehold.BreakRequest{Resource: l.name})
			case "transfer":
				id := d.nextID()
				d.m.transfer(l, "dan", id)
				var moved leasehold.Lease
				moved, err = d.engine.Transfer(ctx(), leasehold.TransferRequest{ID: own.ID, To: "dan", Proposed: id})
				l.token = moved.Token
			}
			if err != nil {
				d.fail("%s = %v", how, err)
			}
			d.verify()
			d.expect(map[*call]string{upgrade: want, reader: "granted"})
		})
	}
}

// TestWaitUnderBreakingLease: a request with the id of a lease that is being broken
// waits for its end, which is its answer, in whatever modes.
func TestWaitUnderBreakingLease(t *testing.T) {
	scenario(t, "", func(d *driver) {
		own := d.acquire("ann", shared(a)...)
		period := 3 * time.Second
		d.m.breakLeases([]*lease{d.m.find(own.ID)}, period)
		if _, err := d.engine.Break(ctx(), leasehold.BreakRequest{Resource: "a", Period: &period}); err != nil {
			d.fail("Break = %v", err)
		}
		again := d.modes(own, leasehold.Shared, true)
		d.expect(map[*call]string{again: "waits"})
		d.sleep(4)
		d.expect(map[*call]string{again: "lease_broken"})
	})
}

// TestBreakOfAll: a break of a name breaks all sets that have it before any waiter is
// served, so that none of them is granted in between.
func TestBreakOfAll(t *testing.T) {
	scenario(t, "", func(d *driver) {
		first, second := d.acquire("ann", shared(a)...), d.acquire("bob", shared(a, b)...)
		upgrade := d.modes(second, leasehold.Exclusive, true)
		writer := d.wait("cyd", a)
		d.m.breakLeases(d.m.onName("a"), 0)
		if _, err := d.engine.Break(ctx(), leasehold.BreakRequest{Resource: "a"}); err != nil {
			d.fail("Break = %v", err)
		}
		d.verify()
		d.expect(map[*call]string{first: "granted", upgrade: "lease_broken", writer: "granted"})
	})
}

// TestOneOrder: a waiter for a set whose reservation has ended still comes before those
// behind it when all of it is free, also before waiters for plain names.
func TestOneOrder(t *testing.T) {
	scenario(t, "", func(d *driver) {
		held := d.acquirePlain("ann", "a")
		set := d.claim(leasehold.AcquireRequest{Holder: "bob", Claims: []leasehold.Claim{a, b}, TTL: 2 * time.Second}, true)
		d.sleep(3)
		passing := d.acquirePlain("cyd", "b") // b is no longer kept free
		d.release(passing)
		plain := d.waitPlain("cyd", "a")
		d.release(held)
		d.expect(map[*call]string{passing: "granted", set: "granted", plain: "waits"})
	})
}

// TestPlaceGivenUp: a waiter that gets something else by its id no longer keeps what it
// waited for.
func TestPlaceGivenUp(t *testing.T) {
	scenario(t, "", func(d *driver) {
		d.acquirePlain("ann", "a")
		waiting := d.wait("bob", a, b)
		behind := d.wait("cyd", b)
		d.expect(map[*call]string{behind: "waits"})
		other := d.claim(leasehold.AcquireRequest{Holder: "bob", Claims: []leasehold.Claim{c}, ID: waiting.ID}, false)
		d.expect(map[*call]string{other: "granted", waiting: "superseded", behind: "granted"})
	})
}

// TestPlaceInOtherModes: a waiter that comes back for other modes keeps its place, and no
// longer keeps out who can share with it.
func TestPlaceInOtherModes(t *testing.T) {
	scenario(t, "", func(d *driver) {
		held := d.acquirePlain("ann", "b")
		waiting := d.wait("bob", a, b)
		reader, writer := d.wait("cyd", shared(a)...), d.wait("dan", a, b)
		d.expect(map[*call]string{waiting: "waits", reader: "waits", writer: "waits"})
		back := d.claim(leasehold.AcquireRequest{Holder: "bob", Claims: append(shared(a), b), ID: waiting.ID}, true)
		d.expect(map[*call]string{waiting: "superseded", back: "waits", reader: "granted", writer: "waits"})
		d.release(held)
		d.expect(map[*call]string{back: "granted", writer: "waits"})
	})
}

// TestEmptyClaims: a list of no claims beside a name is none.
func TestEmptyClaims(t *testing.T) {
	scenario(t, "", func(d *driver) {
		g, err := d.engine.Acquire(ctx(), leasehold.AcquireRequest{Holder: "ann", Resource: "a", Claims: []leasehold.Claim{}})
		if err != nil || g.Resource != "a" || g.Claims != nil {
			d.fail("Acquire = %+v, %v; want a plain lease on a", g, err)
		}
	})
}

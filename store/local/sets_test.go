package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/machine"
)

func claim(holder string, claims ...leasehold.Claim) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Holder: holder, Claims: claims, TTL: time.Hour}
}

func mustAcquire(t *testing.T, e *Engine, r leasehold.AcquireRequest) leasehold.Grant {
	t.Helper()
	g, err := e.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("Acquire(%v) = %v", r.Claims, err)
	}
	return g
}

// A set that was granted by a commit that failed is not held in part, and its waiter
// gets its position and its reservation back.
func TestVoidSetGoesBackToTheQueue(t *testing.T) {
	for _, f := range []fault{unwritten, unanswered} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			x := acquire(t, e, "x", "a", time.Hour)
			set := wait(t.Context(), e, claim("set", leasehold.Resources("x", "y")...))
			small := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "y", Holder: "small", TTL: time.Hour})
			d.failNext(f)
			_, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: x.ID})
			if f == unwritten {
				wantReason(t, "Release on a failing disk", err, leasehold.ReasonUnavailable)
				synctest.Wait()
				if len(set)+len(small) > 0 {
					t.Fatal("a waiter got what is not on disk, or what is reserved")
				}
				release(t, e, x)
			}
			a := <-set
			if a.err != nil {
				t.Fatalf("the set's waiter got %v", a.err)
			}
			e.inspect(func() { checkSets(t, e) })
			if len(small) > 0 {
				t.Fatalf("y was granted beside the set that has it")
			}
			release(t, e, a.grant)
			if b := <-small; b.err != nil {
				t.Fatalf("the waiter for y got %v", b.err)
			}
			d.checkSeqs(t)
		})
	}
}

// checkSets fails unless what is indexed of waiters agrees with the queues.
func checkSets(t *testing.T, e *Engine) {
	t.Helper()
	checkTable(t, e.table)
	present, reserving, sequences := 0, 0, map[string]int{}
	count := func(q *queue) {
		q.present.Ascend(func(p *position) bool {
			if p.claims != nil {
				present++
			}
			if p.lapse >= 0 {
				reserving++
				if e.lapses.At(int(p.lapse)) != p {
					t.Fatalf("the position of %q is not where it thinks", p.holder)
				}
			}
			if p.waiter.req.Sequence {
				sequences[p.holder]++
				if !e.sequences[p.holder][p.waiter] {
					t.Fatalf("nobody knows that %q waits", p.holder)
				}
			}
			return true
		})
	}
	for _, q := range e.queues {
		count(q)
	}
	if e.sets != nil {
		count(e.sets)
	}
	if e.reserving.Len() != present || e.lapses.Len() != reserving || len(e.sequences) != len(sequences) {
		t.Fatalf("%d sets wait, %d reserve, %d holders in sequence; indexed %d, %d, %d",
			present, reserving, len(sequences), e.reserving.Len(), e.lapses.Len(), len(e.sequences))
	}
	for holder, n := range sequences {
		if len(e.sequences[holder]) != n {
			t.Fatalf("%q waits %d times, indexed %d", holder, n, len(e.sequences[holder]))
		}
	}
}

// TestSetsUnderFailingCommits: whatever waits, leaves, comes back, ends and fails to be
// written, the indexes agree with rows and queues, no two live leases conflict, nobody in
// sequence waits for itself, and everybody who waits for something free has it.
func TestSetsUnderFailingCommits(t *testing.T) {
	for seed := range uint64(soak.Rounds(10, 200)) {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			random := rand.New(rand.NewPCG(seed, 15))
			faults := rand.New(rand.NewPCG(seed, 16)) // the committer's own
			d.set(func(d *disk) {
				d.slowness = time.Duration(seed%2) * 300 * time.Millisecond // more is decided on top
				d.failCommit = func(int) fault {
					if n := faults.IntN(20); n < 2 {
						return fault(n + 1)
					}
					return fine
				}
			})
			clients := make([]setClient, 8)
			for i := range clients {
				clients[i] = setClient{e: e, holder: fmt.Sprint(i), id: leasehold.NewID()}
			}
			for range 150 {
				clients[random.IntN(len(clients))].act(t, random)
				time.Sleep(time.Duration(random.IntN(2)) * time.Second)
				e.inspect(func() {
					if e.down == nil {
						checkSets(t, e)
						checkExclusion(t, e)
						checkCycles(t, e)
					}
				})
			}
			d.set(func(d *disk) { d.failCommit = nil })
			for i := range clients {
				clients[i].cancel()
			}
			e.inspect(func() { checkSets(t, e) })
		})
	}
}

// setClient is one holder that acquires and waits for sets and names.
type setClient struct {
	e       *Engine
	holder  string
	id      leasehold.ID // of its present intention
	held    []leasehold.Grant
	waiting <-chan answer
	stop    context.CancelFunc
}

func (c *setClient) act(t *testing.T, random *rand.Rand) {
	c.receive()
	switch action := random.IntN(6); {
	case c.waiting != nil && action < 3:
		c.cancel()
	case len(c.held) > 0 && action < 3:
		g := c.held[0]
		c.held = c.held[1:]
		go c.e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Note: "n"}) // others go on meanwhile
	case c.waiting == nil:
		ctx, stop := context.WithCancel(t.Context())
		c.stop = stop
		if random.IntN(2) == 0 {
			c.id = leasehold.NewID()
		}
		c.waiting = wait(ctx, c.e, c.request(random))
	}
}

func (c *setClient) request(random *rand.Rand) leasehold.AcquireRequest {
	r := leasehold.AcquireRequest{
		Holder: c.holder, ID: c.id, TTL: time.Duration(1+random.IntN(20)) * time.Second, Timeout: 10 * time.Second,
		Priority: random.IntN(2), Sequence: random.IntN(2) == 0,
	}
	if random.IntN(3) == 0 {
		r.Resource = []string{"x", "y"}[random.IntN(2)]
		return r
	}
	all := append(leasehold.Resources("x", "y"), leasehold.Paths("n", "a/b", "a/*", "**", "c/**")...)
	for _, i := range random.Perm(len(all))[:1+random.IntN(3)] {
		all[i].Mode = leasehold.Mode(random.IntN(2))
		r.Claims = append(r.Claims, all[i])
	}
	return r
}

// receive keeps what was granted meanwhile.
func (c *setClient) receive() {
	select {
	case a := <-c.waiting:
		if a.err == nil {
			c.held = append(c.held, a.grant)
		}
		c.waiting = nil
	default:
	}
}

func (c *setClient) cancel() {
	if c.waiting != nil {
		c.stop()
		<-c.waiting
		c.waiting = nil
	}
}

// checkExclusion fails if two live leases conflict, or if a waiter could be served.
func checkExclusion(t *testing.T, e *Engine) {
	t.Helper()
	now := e.clock.now()
	var live []*entry
	for _, ent := range e.table.rows {
		if ent.row.At(now).State.Locked() {
			live = append(live, ent)
		}
	}
	for i, a := range live {
		for _, b := range live[:i] {
			if conflicting(a.row.Covers(), b.row.Covers()) {
				t.Fatalf("%v of %q and %v of %q are both live", a.row.Covers(), a.row.Holder, b.row.Covers(), b.row.Holder)
			}
		}
	}
	if e.sets == nil {
		return
	}
	e.sets.present.Ascend(func(p *position) bool {
		if out := e.tryAcquire(now, p.waiter.req, leasehold.NewID(), p); !mustWait(out.Reason) {
			t.Fatalf("%q waits for %v, which it can have: %q", p.holder, p.claims, out.Reason)
		}
		return true
	})
}

// checkCycles fails if a holder in sequence waits for itself, over others or not, by the
// closure of whom each waits for.
func checkCycles(t *testing.T, e *Engine) {
	t.Helper()
	g := waitGraph{state: &e.state, now: e.clock.now()}
	waits := map[[2]string]bool{}
	for holder := range e.sequences {
		for _, edge := range g.edgesOf(holder) {
			waits[[2]string{holder, edge.HeldBy}] = true
		}
	}
	for via := range e.sequences {
		for from := range e.sequences {
			for to := range e.sequences {
				if waits[[2]string{from, via}] && waits[[2]string{via, to}] {
					waits[[2]string{from, to}] = true
				}
			}
		}
	}
	for holder := range e.sequences {
		if waits[[2]string{holder, holder}] {
			t.Fatalf("%q waits for itself: %v", holder, g.edgesOf(holder))
		}
	}
}

// conflicting compares name by name, with the patterns of setClient expanded by hand.
func conflicting(a, b []leasehold.Claim) bool {
	expanded := map[string][]string{"a/b": {"a/b"}, "a/*": {"a/b", "a/z"}, "**": {"a/b", "a/z", "c", "c/d"}, "c/**": {"c", "c/d"}, "x": {"x"}, "y": {"y"}}
	for _, x := range a {
		for _, y := range b {
			common := slices.ContainsFunc(expanded[x.Pattern], func(s string) bool { return slices.Contains(expanded[y.Pattern], s) })
			if x.Namespace == y.Namespace && common && !(x.Mode == leasehold.Shared && y.Mode == leasehold.Shared) {
				return true
			}
		}
	}
	return false
}

// TestNamespaceIsFull: at the limit another lease is refused, in that namespace only.
func TestNamespaceIsFull(t *testing.T) {
	defer func(n int) { maxInNamespace = n }(maxInNamespace)
	maxInNamespace = 3
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		var last leasehold.Grant
		for i := range 3 {
			last = mustAcquire(t, e, claim("a", leasehold.Paths("n", fmt.Sprint(i), fmt.Sprint(i, "x"))...))
		}
		_, err := e.Acquire(t.Context(), claim("a", leasehold.Paths("n", "3")...))
		wantReason(t, "Acquire in a full namespace", err, leasehold.ReasonTooMany)
		mustAcquire(t, e, claim("a", leasehold.Paths("m", "3")...))
		release(t, e, last)
		mustAcquire(t, e, claim("a", leasehold.Paths("n", "3")...))
	})
}

// A waiter that another grant to its own holder puts into a cycle is refused then.
func TestGrantClosesACycle(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		request := func(holder, resource string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: time.Hour, Sequence: true}
		}
		x, z := acquire(t, e, "x", "a", time.Hour), acquire(t, e, "z", "c", time.Hour)
		forX := wait(t.Context(), e, request("b", "x")) // b waits for a
		forY := wait(t.Context(), e, request("b", "z")) // and for c
		acquire(t, e, "y", "b", time.Hour)
		ofA := wait(t.Context(), e, request("a", "y"))
		if a := <-ofA; leasehold.ReasonOf(a.err) != leasehold.ReasonDeadlock {
			t.Fatalf("Wait of a for y of b = %v, want deadlock", a.err)
		}
		ofC := wait(t.Context(), e, request("c", "x")) // behind b
		release(t, e, x)                               // b has x, and c waits for b, which waits for c
		if b := <-forX; b.err != nil {
			t.Fatalf("Wait of b for x = %v", b.err)
		}
		b := <-forY
		wantReason(t, "Wait of b for z of c, which waits for x of b", b.err, leasehold.ReasonDeadlock)
		e.inspect(func() { checkSets(t, e) })
		release(t, e, z)
		if len(ofC) > 0 {
			t.Errorf("c got %+v", <-ofC)
		}
	})
}

// A commit that fails can undo the end of a lease and so close a cycle: the later of the
// waits is refused then.
func TestRecoveryClosesACycle(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		request := func(holder, resource string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: time.Hour, Sequence: true}
		}
		acquire(t, e, "x", "a", time.Hour)
		y := acquire(t, e, "y", "b", time.Hour)
		ofB := wait(t.Context(), e, request("b", "x"))
		d.set(func(d *disk) { d.slowness = time.Second })
		d.failNext(unwritten)
		broken := make(chan error, 1)
		go func() {
			_, err := e.Break(t.Context(), leasehold.BreakRequest{Resource: "x"})
			broken <- err
		}()
		time.Sleep(time.Millisecond)                   // b has x, in memory
		ofA := wait(t.Context(), e, request("a", "y")) // a has nothing, in memory
		wantReason(t, "Break on a failing disk", <-broken, leasehold.ReasonUnavailable)
		a := <-ofA
		wantReason(t, "Wait of a for y of b, which waits for x of a again", a.err, leasehold.ReasonDeadlock)
		if cycle := a.err.(*leasehold.Error).Cycle; len(cycle) != 2 {
			t.Errorf("the cycle is %v, want one of two", cycle)
		}
		e.inspect(func() { checkSets(t, e) })
		if len(ofB) > 0 {
			t.Errorf("b got %+v, want it to wait", <-ofB)
		}
		release(t, e, y)
	})
}

// A cycle that only a grant closed whose commit failed is none: the wait goes on.
func TestVoidGrantClosesNoCycle(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		request := func(holder, resource string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: time.Hour, Sequence: true}
		}
		x, z := acquire(t, e, "x", "a", time.Hour), acquire(t, e, "z", "c", time.Hour)
		forX := wait(t.Context(), e, request("b", "x"))
		forZ := wait(t.Context(), e, request("b", "z"))
		wait(t.Context(), e, request("c", "x")) // behind b
		d.failNext(unwritten)
		_, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: x.ID}) // b has x, in memory
		wantReason(t, "Release on a failing disk", err, leasehold.ReasonUnavailable)
		synctest.Wait()
		e.inspect(func() { checkSets(t, e) })
		if len(forX)+len(forZ) > 0 {
			t.Fatal("a waiter was answered by what is void")
		}
		release(t, e, z)
		if b := <-forZ; b.err != nil {
			t.Errorf("Wait of b for z = %v", b.err)
		}
		if got, want := d.kinds("z"), []leasehold.Kind{leasehold.KindAcquired, leasehold.KindReleased, leasehold.KindAcquired}; !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
		release(t, e, x)
		if b := <-forX; b.err != nil {
			t.Errorf("Wait of b for x = %v", b.err)
		}
	})
}

// A client asks again before the refusal of its wait is durable, which then is void: the
// newer request has the position.
func TestAskedAgainDuringAVoidRefusal(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		request := func(holder, resource string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Resource: resource, Holder: holder, ID: leasehold.NewID(), TTL: time.Hour, Sequence: true}
		}
		x, z := acquire(t, e, "x", "a", time.Hour), acquire(t, e, "z", "c", time.Hour)
		ofX, ofZ := request("b", "x"), request("b", "z")
		wait(t.Context(), e, ofX)
		older := wait(t.Context(), e, ofZ)
		wait(t.Context(), e, request("c", "x")) // behind b
		d.set(func(d *disk) { d.slowness = time.Second })
		d.failNext(unwritten)
		for _, id := range []leasehold.ID{x.ID, ofX.ID} { // b has x, and gives it to c
			go e.Release(t.Context(), leasehold.ReleaseRequest{ID: id})
			synctest.Wait()
		}
		newer := wait(t.Context(), e, ofZ)
		wantReason(t, "the older wait", (<-older).err, leasehold.ReasonSuperseded)
		e.inspect(func() { checkSets(t, e) })
		release(t, e, z)
		if b := <-newer; b.err != nil {
			t.Errorf("the newer wait = %v", b.err)
		}
		d.checkSeqs(t)
	})
}

// Where many wait for parts of the same, one more that nobody waits for is found to be in
// no cycle without a look at whom each of them waits for.
func TestCycleAmongManyIsSoonExcluded(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "all", "h", time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		const n = 100
		for i := range n {
			r := claim(fmt.Sprint("w", i), leasehold.Resources("all", fmt.Sprint("r", i))...)
			r.Sequence = true
			wait(ctx, e, r)
		}
		e.inspect(func() {
			var last *waiter
			for last = range e.sequences[fmt.Sprint("w", n-1)] {
			}
			now := e.clock.now()
			if allocs := testing.AllocsPerRun(10, func() { e.checkWait(now, last) }); allocs > n/4 {
				t.Errorf("a search allocates %v times, as often as it looks at a waiter", allocs)
			}
		})
	})
}

// Who waits with the id that a transfer gives it gets the lease by it, and waits no more.
func TestTransferToTheWaiterItself(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		x := acquire(t, e, "x", "a", time.Hour)
		r := leasehold.AcquireRequest{Resource: "x", Holder: "b", ID: leasehold.NewID(), TTL: time.Hour, Sequence: true}
		waiting := wait(t.Context(), e, r)
		l, err := e.Transfer(t.Context(), leasehold.TransferRequest{ID: x.ID, To: "b", Proposed: r.ID})
		if err != nil || l.Holder != "b" {
			t.Fatalf("Transfer to who waits for it with that id = %+v, %v, want it done", l, err)
		}
		wantReason(t, "Wait for what a transfer gave", (<-waiting).err, leasehold.ReasonSuperseded)
		e.inspect(func() { checkSets(t, e) })
	})
}

// A client comes back to its place for other modes of the same patterns.
func TestPlaceForOtherModes(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		shared := func(holder string) leasehold.AcquireRequest {
			return claim(holder, leasehold.Claim{Pattern: "a", Mode: leasehold.Shared}, leasehold.Claim{Pattern: "b", Mode: leasehold.Shared})
		}
		x, y := mustAcquire(t, e, shared("x")), mustAcquire(t, e, shared("y"))
		upgrade := shared("x")
		upgrade.ID, upgrade.Timeout = x.ID, time.Millisecond
		upgrade.Claims[0].Mode = leasehold.Exclusive
		first := <-wait(t.Context(), e, upgrade)
		wantReason(t, "Wait for a in another mode", first.err, leasehold.ReasonTimeout)

		more := shared("x")
		more.ID, more.Timeout = x.ID, time.Minute
		more.Claims[0].Mode, more.Claims[1].Mode = leasehold.Exclusive, leasehold.Exclusive
		second := wait(t.Context(), e, more)
		upgrade.Timeout = time.Minute
		third := wait(t.Context(), e, upgrade) // it changes its mind while it waits
		wantReason(t, "Wait that was replaced", (<-second).err, leasehold.ReasonSuperseded)
		e.inspect(func() { checkSets(t, e) })
		release(t, e, y)
		a := <-third
		if a.err != nil || a.grant.Resource != x.Resource || !slices.Equal(a.grant.Claims, upgrade.Claims) || a.grant.Token <= y.Token {
			t.Errorf("Wait after that = %+v, %v, want the same lease with a new token", a.grant, a.err)
		}
		e.inspect(func() { checkSets(t, e) })
	})
}

// A set never gets the name of a lease that is there, as a file of an older program
// could have one.
func TestNameOfASetIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.rows["__set__1"] = machine.Row{Resource: "__set__1", Holder: "old", ID: leasehold.NewID(), Token: 0, State: leasehold.StateActive, Ends: machine.Never}
		e := open(t, d)
		if g := mustAcquire(t, e, claim("a", leasehold.Resources("x")...)); g.Resource != "__set__2" || g.Token != 2 {
			t.Errorf("Acquire = %q with token %d, want __set__2 with token 2", g.Resource, g.Token)
		}
	})
}

// At the limit a waiter can be served while room is made for it: it gets one lease.
func TestServedWhileRoomIsMade(t *testing.T) {
	shared := leasehold.Resources("a", "b")
	for i := range shared {
		shared[i].Mode = leasehold.Shared
	}
	requests := map[string]leasehold.AcquireRequest{
		"a set":              claim("w", leasehold.Resources("a", "b")...),
		"a shared set":       claim("w", shared...),
		"a set with an id":   {Holder: "w", Claims: shared, TTL: time.Hour, ID: leasehold.NewID()},
		"a name":             {Holder: "w", Resource: "a", TTL: time.Hour},
		"a name with an id":  {Holder: "w", Resource: "a", TTL: time.Hour, ID: leasehold.NewID()},
		"a name of the last": {Holder: "w", Resource: "c", TTL: time.Hour},
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *Engine, d *disk) {
				for _, resource := range []string{"a", "b", "c"} {
					mustAcquire(t, e, leasehold.AcquireRequest{
						Holder: "h", Claims: leasehold.Resources(resource), TTL: time.Second})
				}
				r.Timeout = leasehold.NoTimeout
				waiting := wait(t.Context(), e, r)
				if _, err := e.SetSetting(t.Context(), leasehold.SettingMaxLeases, 2); err != nil {
					t.Fatal(err)
				}
				if a := <-waiting; a.err != nil {
					t.Fatalf("Wait = %v", a.err)
				}
				synctest.Wait()
				e.inspect(func() {
					checkSets(t, e)
					if e.table.live != 1 {
						t.Errorf("%d leases live, want the waiter's", e.table.live)
					}
				})
			})
		})
	}
}

// The timer is late at times: who waits for a lease that has ended comes before a request
// that is here sooner.
func TestWaiterComesBeforeTheTimer(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "h", time.Second)
		first := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Hour, Timeout: leasehold.NoTimeout})
		e.inspect(func() {
			now := e.clock.now()
			now.Clock += machine.Time(time.Second)
			r := e.config.Fill(leasehold.AcquireRequest{Resource: "r", Holder: "second", TTL: time.Hour})
			out := e.tryAcquire(now, r, leasehold.NewID(), nil)
			e.apply(now, out)
			if out.Granted || out.Row.Holder != "first" {
				t.Errorf("the request got %+v, want held by first", out)
			}
		})
		if a := <-first; a.err != nil {
			t.Errorf("Wait = %v", a.err)
		}
	})
}

// The same of sets, and of what a waiter for a set no longer keeps free.
func TestWaiterOfASetComesBeforeTheTimer(t *testing.T) {
	type request = leasehold.AcquireRequest
	plain := func(holder string) request { return request{Resource: "r", Holder: holder, TTL: time.Hour} }
	set := func(holder string, ttl time.Duration) request {
		return request{Claims: leasehold.Resources("q", "r"), Holder: holder, TTL: ttl}
	}
	for name, tt := range map[string]struct {
		held   []request
		before []request // wait before it, and keep it free
		first  request
		second request
	}{
		"a name behind a set":             {[]request{set("h", time.Second)}, nil, plain("first"), plain("second")},
		"a set behind a name":             {[]request{{Resource: "r", Holder: "h", TTL: time.Second}}, nil, set("first", time.Hour), plain("second")},
		"a name behind a reservation":     {[]request{{Resource: "q", Holder: "h", TTL: time.Hour}}, []request{set("large", time.Second)}, plain("first"), plain("second")},
		"a set behind a reservation":      {[]request{{Resource: "q", Holder: "h", TTL: time.Hour}}, []request{set("large", time.Second)}, claim("first", leasehold.Resources("r", "s")...), plain("second")},
		"a set that keeps nothing free":   {[]request{{Resource: "r", Holder: "h", TTL: 3 * time.Second}}, nil, set("first", time.Second), plain("second")},
		"a set, and one that it excludes": {[]request{set("h", time.Second)}, nil, plain("first"), set("second", time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *Engine, d *disk) {
				for _, r := range tt.held {
					mustAcquire(t, e, r)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for _, r := range tt.before {
					r.Timeout = leasehold.NoTimeout
					wait(ctx, e, r)
				}
				tt.first.Timeout = leasehold.NoTimeout
				first := wait(t.Context(), e, tt.first)
				time.Sleep(900 * time.Millisecond)
				if name == "a set that keeps nothing free" {
					time.Sleep(2 * time.Second)
				}
				e.inspect(func() {
					now := e.clock.now()
					now.Clock += machine.Time(100 * time.Millisecond)
					out := e.tryAcquire(now, e.config.Fill(tt.second), leasehold.NewID(), nil)
					e.apply(now, out)
					if out.Granted {
						t.Errorf("the request got %+v, want it refused", out.Row)
					}
				})
				if a := <-first; a.err != nil {
					t.Errorf("Wait = %v", a.err)
				}
			})
		})
	}
}

// When leases end together the waiters for each of them are served in one order, also
// who keeps nothing free any more.
func TestLeasesThatEndTogether(t *testing.T) {
	for _, names := range [][2]string{{"x", "y"}, {"y", "x"}} { // whichever ends first
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			acquire(t, e, "x", "h", 3*time.Second)
			acquire(t, e, "y", "h", 3*time.Second)
			r := claim("first", leasehold.Resources(names[0], "z")...)
			r.TTL = time.Second
			first := wait(t.Context(), e, r)
			time.Sleep(2 * time.Second)
			second := wait(t.Context(), e, claim("second", leasehold.Resources(names[1], "z")...))
			time.Sleep(1500 * time.Millisecond)
			if len(first) != 1 || len(second) != 0 {
				t.Errorf("%d and %d waiters are answered, want the first alone", len(first), len(second))
			}
			for _, w := range []<-chan answer{first, second} {
				select {
				case a := <-w:
					if a.err != nil {
						t.Errorf("Wait = %v", a.err)
					}
				case <-time.After(time.Minute):
					t.Error("a waiter was never answered")
				}
			}
		})
	}
}

// A wait for other modes of a lease names who is in its way, not the lease itself.
func TestUpgradeNamesTheOther(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		shared := leasehold.Claim{Pattern: "x", Mode: leasehold.Shared}
		own := mustAcquire(t, e, claim("a", shared))
		mustAcquire(t, e, claim("b", shared))
		upgrade := leasehold.AcquireRequest{Holder: "a", ID: own.ID, TTL: time.Hour, Claims: leasehold.Resources("x"), Timeout: time.Second}
		_, err := e.Acquire(t.Context(), upgrade)
		wantBlocker(t, "Acquire", err, "b")
		_, err = e.Wait(t.Context(), upgrade)
		wantBlocker(t, "Wait", err, "b")
		_, err = e.Acquire(t.Context(), claim("c", leasehold.Resources("x")...))
		wantBlocker(t, "Acquire of another", err, "a")
	})
}

func wantBlocker(t *testing.T, what string, err error, holder string) {
	t.Helper()
	refusal, _ := err.(*leasehold.Error)
	if refusal == nil || refusal.Current == nil || refusal.Current.Holder != holder {
		t.Errorf("%s = %+v, want a refusal that names %s", what, err, holder)
	}
}

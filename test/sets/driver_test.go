package sets_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// driver carries out the same operations on the engine and on the model, one at a time,
// and compares everything that can be seen after each. It runs in a bubble.
//
// All ttls and periods are whole seconds, all timeouts half seconds, and operations
// start at different milliseconds of a second, so that no two things that happen by
// time alone coincide unless one follows from the other.
type driver struct {
	rapid.TB
	engine *local.Engine
	m      model
	calls  []*call // that the engine has not answered
	token  uint64  // the highest so far
	steps  int
	log    []string

	operations []string // to draw from
	pauses     []int    // seconds between them, to draw from

	deadlocks int // how many were refused

	// sequence says for which holders requests are one sequence of work; several, that
	// such a holder may wait for several things all the same.
	sequence map[string]bool
	several  bool

	draw *rapid.T // nil: the test says what happens
}

// call is a request that is under way.
type call struct {
	leasehold.AcquireRequest
	want     *answer
	cancel   context.CancelFunc
	answered chan struct{} // closed when grant and err are set

	done  bool // they were read
	grant leasehold.Grant
	err   error
}

func newDriver(t rapid.TB) *driver {
	return &driver{
		TB: t, engine: memory.New(), m: model{ended: map[leasehold.ID]ending{}}, sequence: map[string]bool{},
		operations: []string{
			"acquire", "acquire", "acquire", "wait", "wait", "wait", "wait", "resume", "modes", "modes",
			"repeat", "release", "release", "transfer", "break", "cancel", "renew",
		},
		pauses: []int{0, 0, 0, 1, 2, 6, 31},
	}
}

func (d *driver) close() {
	d.engine.Close()
	synctest.Wait()
}

func (d *driver) note(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf("%7.2fs ", d.m.now.Seconds())+fmt.Sprintf(format, args...))
}

func (d *driver) fail(format string, args ...any) {
	d.Helper()
	for _, c := range d.calls {
		d.note("%s: %s, want %s", describe(c.AcquireRequest, true), shown(c), wanted(c.want))
	}
	d.Fatalf("%s\nafter\n\t%s", fmt.Sprintf(format, args...), strings.Join(d.log, "\n\t"))
}

// ends of time between two operations.
const stepTime = 10 * time.Millisecond

// sleep lets time pass in both.
func (d *driver) sleep(seconds int) {
	pause := time.Duration(seconds)*time.Second + stepTime
	if seconds > 0 {
		d.note("%d s pass", seconds)
	}
	d.m.advance(pause)
	time.Sleep(pause)
	d.verify()
	d.verifyReads()
}

// start sends a request that may wait, and compares the answer if there is one.
func (d *driver) start(r leasehold.AcquireRequest, wait bool) *call {
	r.Sequence = d.sequence[r.Holder]
	wait = wait && !(r.Sequence && !d.several && d.waits(r.Holder, r.ID))
	d.note("%s", describe(r, wait))
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{AcquireRequest: r, cancel: cancel, answered: make(chan struct{})}
	if wait {
		c.want = d.m.wait(r)
	} else {
		c.want = d.m.acquire(r)
	}
	go func() {
		if wait {
			c.grant, c.err = d.engine.Wait(ctx, r)
		} else {
			c.grant, c.err = d.engine.Acquire(ctx, r)
		}
		close(c.answered)
	}()
	d.calls = append(d.calls, c)
	d.verify()
	return c
}

// waits says whether a holder waits already, other than by this id.
func (d *driver) waits(holder string, id leasehold.ID) bool {
	return slices.ContainsFunc(d.m.places, func(p *place) bool {
		return p.Holder == holder && p.present != nil && (p.ID != id || id.IsZero())
	})
}

func describe(r leasehold.AcquireRequest, wait bool) string {
	verb := "acquires"
	if wait {
		verb = fmt.Sprintf("waits %v for", r.Timeout)
	}
	what := r.Resource
	if r.Claims != nil {
		what = "set "
	}
	for i, c := range r.Claims {
		if i > 0 {
			what += ", "
		}
		what += c.String()
	}
	s := fmt.Sprintf("%s %s [%s] id %x, ttl %v, priority %d", r.Holder, verb, what, r.ID[:2], r.TTL, r.Priority)
	if r.Sequence {
		s += ", in sequence"
	}
	return s
}

// verify compares all answers and all live leases.
func (d *driver) verify() {
	d.Helper()
	synctest.Wait()
	before := d.token
	waiting := d.calls[:0]
	var notes, wantNotes []string // of all grants together: several at once may share them otherwise
	for _, c := range d.calls {
		select {
		case <-c.answered:
			c.done = true
		default:
		}
		if c.done != c.want.done {
			d.fail("%s: answered %t with %s, want %s", describe(c.AcquireRequest, true), c.done, shown(c), wanted(c.want))
		}
		if !c.done {
			waiting = append(waiting, c)
			continue
		}
		d.verifyAnswer(c, before)
		c.cancel()
		if c.err == nil && !c.want.again {
			notes, wantNotes = append(notes, texts(c.grant.Notes)...), append(wantNotes, texts(c.want.notes)...)
			c.want.lease.notes = c.grant.Notes
		}
	}
	d.calls = waiting
	if slices.Sort(notes); !slices.Equal(notes, slices.Sorted(slices.Values(wantNotes))) {
		d.fail("the new holders got the notes %q, want %q", notes, wantNotes)
	}
	d.verifyLeases()
	d.verifyNoCycle()
}

func shown(c *call) string {
	if !c.done {
		return "nothing yet"
	}
	if c.err != nil {
		return c.err.Error()
	}
	return fmt.Sprintf("a grant to %s", c.grant.Holder)
}

func wanted(a *answer) string {
	switch {
	case !a.done:
		return "it to wait"
	case a.lease != nil:
		return "a grant"
	}
	return string(a.reason)
}

func (d *driver) verifyAnswer(c *call, before uint64) {
	d.Helper()
	w := c.want
	if (c.err == nil) != (w.lease != nil) {
		d.fail("%s = %s, want %s", describe(c.AcquireRequest, true), shown(c), wanted(w))
	}
	if c.err != nil {
		d.verifyRefusal(c)
		return
	}
	g := c.grant
	if g.Idempotent != w.again || g.Holder != c.Holder || !slices.Equal(g.Claims, c.Claims) || g.TTL != c.TTL {
		d.fail("%s = %+v, want its own terms, idempotent %t", describe(c.AcquireRequest, true), g, w.again)
	}
	if strings.HasPrefix(g.Resource, leasehold.SetPrefix) != (c.Claims != nil) || c.Claims == nil && g.Resource != c.Resource {
		d.fail("%s = a lease named %q", describe(c.AcquireRequest, true), g.Resource)
	}
	if w.again {
		return
	}
	if w.lease.name != "" && w.lease.name != g.Resource {
		d.fail("an upgrade of %q is named %q", w.lease.name, g.Resource)
	}
	if g.Token <= before {
		d.fail("%s got the token %d after %d", describe(c.AcquireRequest, true), g.Token, before)
	}
	w.lease.name, w.lease.token = g.Resource, g.Token
	if w.lease.id.IsZero() {
		w.lease.id = g.ID
	}
	d.token = max(d.token, g.Token)
}

func texts(notes []leasehold.Note) (all []string) {
	for _, n := range notes {
		all = append(all, n.From+": "+n.Text)
	}
	return all
}

// verifyRefusal expects the reason, and that a refusal at once names what is in the way
// and where.
func (d *driver) verifyRefusal(c *call) {
	d.Helper()
	var e *leasehold.Error
	if !errors.As(c.err, &e) {
		d.fail("%s = %v, which is no *Error", describe(c.AcquireRequest, true), c.err)
	}
	w := c.want
	switch {
	case len(w.blockers) > 0:
		d.verifyBlocked(c, e)
	case len(w.kept) > 0:
		d.verifyReserved(c, e)
	case e.Reason == leasehold.ReasonDeadlock && w.reason == e.Reason:
		d.deadlocks++
		d.verifyCycle(describe(c.AcquireRequest, true), c.Holder, e.Cycle, w.graph)
		if first := e.Cycle[0].Claim; !d.several && !slices.Contains(covers(c.Resource, c.Claims), first) {
			d.fail("%s = the cycle %v, which does not start with the request", describe(c.AcquireRequest, true), e.Cycle)
		}
	case e.Reason != w.reason:
		d.fail("%s = %v, want %s", describe(c.AcquireRequest, true), c.err, w.reason)
	}
}

func (d *driver) verifyBlocked(c *call, e *leasehold.Error) {
	d.Helper()
	if e.Current == nil || e.Reserved != "" {
		d.fail("%s = %v by %v, reserved for %q; want a lease in its way", describe(c.AcquireRequest, true), e, e.Current, e.Reserved)
	}
	at := slices.IndexFunc(c.want.blockers, func(l *lease) bool { return l.token == e.Current.Token })
	if at < 0 {
		d.fail("%s = %v, which is not in its way", describe(c.AcquireRequest, true), e)
	}
	l := c.want.blockers[at]
	if e.Reason != heldReason(l) || e.Current.Holder != l.holder || !slices.Equal(e.Current.Claims, l.claims) {
		d.fail("%s = %v by %+v, want %s by %s", describe(c.AcquireRequest, true), e, e.Current, heldReason(l), l.holder)
	}
	d.verifyOverlap(c, e.Overlap, l.claims, l.covers())
}

func (d *driver) verifyReserved(c *call, e *leasehold.Error) {
	d.Helper()
	at := slices.IndexFunc(c.want.kept, func(p *place) bool { return p.Holder == e.Reserved })
	if e.Reason != leasehold.ReasonHeld || at < 0 {
		d.fail("%s = %v, reserved for %q; want lease_held, kept for a waiter", describe(c.AcquireRequest, true), e, e.Reserved)
	}
	for _, p := range c.want.kept {
		ofThis := p.Holder == e.Reserved && e.Overlap != nil && slices.Contains(p.covers(), e.Overlap.Held)
		if !ofThis {
			continue
		}
		waitsFor := d.m.blockers(p.AcquireRequest)
		if (e.Current == nil) == (len(waitsFor) == 0) &&
			(e.Current == nil || slices.ContainsFunc(waitsFor, func(l *lease) bool { return l.token == e.Current.Token })) {
			d.verifyOverlap(c, e.Overlap, p.Claims, p.covers())
			return
		}
	}
	d.fail("%s = %v by %v at %+v, which no waiter ahead has", describe(c.AcquireRequest, true), e, e.Current, e.Overlap)
}

// verifyOverlap expects the place where the claims meet, if either side has claims.
func (d *driver) verifyOverlap(c *call, got *leasehold.Overlap, claims, held []leasehold.Claim) {
	d.Helper()
	if c.Claims == nil && claims == nil {
		return
	}
	if got == nil || !slices.Contains(covers(c.Resource, c.Claims), got.Requested) || !slices.Contains(held, got.Held) || !meets(got.Requested, got.Held) {
		d.fail("%s overlaps at %+v, want a place where it meets %v", describe(c.AcquireRequest, true), got, held)
	}
	part := things(leasehold.Claim{Namespace: got.Held.Namespace, Pattern: got.Part})
	for _, thing := range part {
		if !slices.Contains(things(got.Requested), thing) || !slices.Contains(things(got.Held), thing) {
			d.fail("%s overlaps at %+v, but %s is not in both", describe(c.AcquireRequest, true), got, thing)
		}
	}
	if len(part) == 0 {
		d.fail("%s overlaps at %+v, which is nothing", describe(c.AcquireRequest, true), got)
	}
}

// verifyCycle expects a closed chain from the holder over others, who all wait so.
func (d *driver) verifyCycle(what, holder string, cycle []leasehold.WaitEdge, graph waitGraph) {
	d.Helper()
	at := holder
	for i, edge := range cycle {
		if edge.Holder != at || edge.HeldBy == holder != (i == len(cycle)-1) {
			d.fail("%s = the cycle %v, which does not go from %s back to it", what, cycle, holder)
		}
		if !graph[[2]string{edge.Holder, edge.HeldBy}] {
			d.fail("%s = the cycle %v, but %s does not wait for %s", what, cycle, edge.Holder, edge.HeldBy)
		}
		at = edge.HeldBy
	}
	if at != holder || len(cycle) == 0 {
		d.fail("%s = the cycle %v, want one back to %s", what, cycle, holder)
	}
}

// verifyLeases compares the live leases.
func (d *driver) verifyLeases() {
	d.Helper()
	page, err := d.engine.List(context.Background(), leasehold.ListRequest{Limit: leasehold.MaxPage})
	if err != nil || page.Cursor != "" {
		d.fail("List = %v, cursor %q", err, page.Cursor)
	}
	byToken := map[uint64]leasehold.Lease{}
	for _, l := range page.Leases {
		byToken[l.Token] = l
	}
	for _, l := range d.m.leases {
		got, ok := byToken[l.token]
		delete(byToken, l.token)
		state, remaining := leasehold.StateActive, l.ends-d.m.now
		if l.breaking {
			state = leasehold.StateBreaking
		}
		if l.ends == never {
			remaining = leasehold.Infinite
		}
		if !ok || got.Resource != l.name || got.Holder != l.holder || got.State != state || got.Remaining != remaining || !slices.Equal(got.Claims, l.claims) {
			d.fail("listed is %+v, want %+v with %v left", got, *l, remaining)
		}
	}
	for _, l := range byToken {
		d.fail("listed is %+v, which should not live", l)
	}
}

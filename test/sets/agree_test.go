package sets_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
)

var holders = []string{"ann", "bob", "cyd", "dan"}

// TestEngineAgreesWithModel: over random histories the engine grants, refuses and
// answers waiters as the model does, at the same moments.
func TestEngineAgreesWithModel(t *testing.T) {
	checkInBubble(t, func(t *rapid.T) { newDriver(t).run(t, soak.Rounds(30, 44)) })
}

// checkInBubble is rapid.Check with a bubble for each draw. One bubble for all would end
// after a day of its own time, without a word and long before the checks are done.
func checkInBubble(t *testing.T, property func(*rapid.T)) {
	check := func(rt *rapid.T) {
		var failure any
		synctest.Test(t, func(*testing.T) {
			defer func() { failure = recover() }() // rapid's, in its own goroutine
			property(rt)
		})
		switch { // rapid takes failures from the same line for the same
		case fmt.Sprintf("%T", failure) == "rapid.invalidData":
			panic(failure)
		case failure != nil:
			panic(failure)
		}
	}
	for range 4 { // histories are short
		rapid.Check(t, check)
	}
}

// run draws so many operations.
func (d *driver) run(t *rapid.T, steps int) {
	d.draw = t
	defer d.close()
	for range steps {
		d.steps++
		d.operation()
		d.sleep(rapid.SampledFrom(d.pauses).Draw(d.draw, "pause"))
	}
	for len(d.calls) > 0 { // all come to an end
		d.sleep(3)
	}
}

// operation draws one and carries it out.
func (d *driver) operation() {
	switch op := rapid.SampledFrom(d.operations).Draw(d.draw, "operation"); op {
	case "acquire", "wait":
		d.start(d.request(), op == "wait")
	case "resume":
		d.resume()
	case "modes":
		d.changeModes()
	case "cancel":
		d.cancel()
	default:
		if l := d.anyLease(); l != nil {
			d.onLease(op, l)
		}
	}
}

// newID is a new id, or none.
func (d *driver) newID(maybe bool) (id leasehold.ID) {
	if maybe && rapid.IntRange(0, 2).Draw(d.draw, "without id") == 0 {
		return id
	}
	binary.BigEndian.PutUint16(id[:], uint16(d.steps))
	return id
}

var (
	anyTTL     = rapid.SampledFrom([]time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second, 8 * time.Second, 60 * time.Second})
	anyTimeout = rapid.SampledFrom([]time.Duration{500 * time.Millisecond, 4500 * time.Millisecond, 9500 * time.Millisecond, 50500 * time.Millisecond})
	anyHolder  = rapid.SampledFrom(holders)
	anyMode    = rapid.SampledFrom([]leasehold.Mode{leasehold.Exclusive, leasehold.Exclusive, leasehold.Shared})
	anyClaim   = rapid.Custom(func(t *rapid.T) leasehold.Claim {
		namespace := rapid.SampledFrom([]string{"", "", "repo", "repo", "services:"}).Draw(t, "namespace")
		choices := names
		if namespace != "" {
			choices = patterns[namespace]
		}
		return leasehold.Claim{Namespace: namespace, Pattern: rapid.SampledFrom(choices).Draw(t, "pattern"), Mode: anyMode.Draw(t, "mode")}
	})
	anyClaims = rapid.SliceOfNDistinct(anyClaim, 1, 3, func(c leasehold.Claim) string { return c.Namespace + " " + c.Pattern })
)

// request draws a request for a name or a set.
func (d *driver) request() leasehold.AcquireRequest {
	r := leasehold.AcquireRequest{
		Holder: anyHolder.Draw(d.draw, "holder"), ID: d.newID(true), TTL: anyTTL.Draw(d.draw, "ttl"),
		Timeout:  anyTimeout.Draw(d.draw, "timeout"),
		Priority: rapid.SampledFrom([]int{0, 0, 0, 1, -1}).Draw(d.draw, "priority"),
	}
	if rapid.IntRange(0, 2).Draw(d.draw, "plain") == 0 {
		r.Resource = rapid.SampledFrom(names).Draw(d.draw, "name")
	} else {
		r.Claims = anyClaims.Draw(d.draw, "claims")
	}
	return r
}

// resume is a request with the id of a place, present or absent; sometimes of another
// holder, or for something else.
func (d *driver) resume() {
	var choices []*place
	for _, p := range d.m.places {
		if !p.ID.IsZero() {
			choices = append(choices, p)
		}
	}
	if len(choices) == 0 {
		return
	}
	p := choices[rapid.IntRange(0, len(choices)-1).Draw(d.draw, "place")]
	r := p.AcquireRequest
	r.Timeout, r.Priority = anyTimeout.Draw(d.draw, "timeout"), rapid.IntRange(-1, 1).Draw(d.draw, "priority")
	switch rapid.IntRange(0, 7).Draw(d.draw, "otherwise") {
	case 0:
		r.Holder = anyHolder.Draw(d.draw, "holder")
	case 1:
		if r.Claims != nil {
			r.Claims = anyClaims.Draw(d.draw, "claims")
		}
	case 2, 3:
		r.Claims = slices.Clone(r.Claims)
		for i := range r.Claims {
			r.Claims[i].Mode = anyMode.Draw(d.draw, "mode")
		}
	}
	d.start(r, rapid.IntRange(0, 3).Draw(d.draw, "without waiting") > 0)
}

// changeModes acquires a live set in other modes, or the same.
func (d *driver) changeModes() {
	var sets []*lease
	for _, l := range d.m.leases {
		if l.claims != nil {
			sets = append(sets, l)
		}
	}
	if len(sets) == 0 {
		return
	}
	l := sets[rapid.IntRange(0, len(sets)-1).Draw(d.draw, "set")]
	r := leasehold.AcquireRequest{
		Holder: l.holder, ID: l.id, TTL: anyTTL.Draw(d.draw, "ttl"), Timeout: anyTimeout.Draw(d.draw, "timeout"), Claims: slices.Clone(l.claims),
	}
	for i := range r.Claims {
		r.Claims[i].Mode = anyMode.Draw(d.draw, "mode")
	}
	d.start(r, rapid.Bool().Draw(d.draw, "wait"))
}

func (d *driver) cancel() {
	if len(d.calls) == 0 {
		return
	}
	c := d.calls[rapid.IntRange(0, len(d.calls)-1).Draw(d.draw, "call")]
	d.note("cancel: %s", describe(c.AcquireRequest, true))
	for _, p := range d.m.places {
		if p.present == c.want {
			d.m.dequeue(p, leasehold.ReasonCancelled)
			break
		}
	}
	c.cancel()
	d.verify()
}

func (d *driver) anyLease() *lease {
	if len(d.m.leases) == 0 {
		return nil
	}
	return d.m.leases[rapid.IntRange(0, len(d.m.leases)-1).Draw(d.draw, "lease")]
}

// onLease is an operation on a live lease.
func (d *driver) onLease(op string, l *lease) {
	ctx := context.Background()
	d.note("%s %s of %s", op, l.name, l.holder)
	var err error
	var want leasehold.Reason
	switch op {
	case "repeat":
		r := leasehold.AcquireRequest{Resource: l.resource, Claims: l.claims, Holder: l.holder, ID: l.id, TTL: anyTTL.Draw(d.draw, "ttl")}
		d.start(r, false)
		return
	case "release":
		text := rapid.SampledFrom([]string{"", "", fmt.Sprint("note ", d.steps)}).Draw(d.draw, "note")
		d.m.release(l, text)
		_, err = d.engine.Release(ctx, leasehold.ReleaseRequest{ID: l.id, Note: text})
	case "renew":
		if l.breaking {
			want = leasehold.ReasonBreaking
		} else {
			l.ends = d.m.end(l.ttl)
		}
		_, err = d.engine.Renew(ctx, leasehold.RenewRequest{ID: l.id})
	case "transfer":
		want, err = d.transfer(l)
	case "break":
		err = d.breakLease(l)
	}
	if leasehold.ReasonOf(err) != want {
		d.fail("%s of %s = %v, want %q", op, l.name, err, want)
	}
	d.verify()
}

// transfer moves a lease to another holder.
func (d *driver) transfer(l *lease) (want leasehold.Reason, err error) {
	to := anyHolder.Draw(d.draw, "to")
	if to == l.holder {
		return "", nil
	}
	d.note("  to %s", to)
	r := leasehold.TransferRequest{ID: l.id, To: to, Proposed: d.newID(false)}
	want, graph := d.m.transfer(l, to, r.Proposed)
	moved, err := d.engine.Transfer(ctx(), r)
	var refusal *leasehold.Error
	if want == leasehold.ReasonDeadlock && errors.As(err, &refusal) {
		d.verifyCycle("the transfer to "+to, to, refusal.Cycle, graph)
	}
	if err == nil {
		if moved.Token <= d.token {
			d.fail("Transfer answers the token %d after %d", moved.Token, d.token)
		}
		l.token, d.token = moved.Token, moved.Token
	}
	return want, err
}

func ctx() context.Context { return context.Background() }

// breakLease breaks a lease by its name, or whatever has one of its plain names.
func (d *driver) breakLease(l *lease) error {
	period := time.Duration(rapid.SampledFrom([]int{0, 0, 3}).Draw(d.draw, "period")) * time.Second
	name, broken := l.name, []*lease{l}
	for _, c := range l.claims {
		if c.Namespace == "" && rapid.Bool().Draw(d.draw, "by plain name") {
			name, broken = c.Pattern, d.m.onName(c.Pattern)
		}
	}
	d.note("  by %q after %v", name, period)
	d.m.breakLeases(broken, period)
	answered, err := d.engine.Break(ctx(), leasehold.BreakRequest{Resource: name, Period: &period})
	if err == nil && !slices.ContainsFunc(broken, func(b *lease) bool { return b.token == answered.Token }) {
		d.fail("Break(%q) = %+v, which is none of the %d it breaks", name, answered, len(broken))
	}
	return err
}

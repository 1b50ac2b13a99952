package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// Action is what was tried against a lease.
type Action string

// The actions. The first five are lease operations, the others are guarded by
// a lease.
const (
	Acquire Action = "acquire"
	Renew   Action = "renew"
	Change  Action = "change"
	Release Action = "release"
	Break   Action = "break"
	Write   Action = "write"
	Read    Action = "read"
)

// LeaseError is a refusal by a lease.
type LeaseError struct {
	Container bool // the lease of a container, not of a blob
	Action    Action
	Reason    leasehold.Reason
	State     leasehold.State // as it stands
	SameID    bool            // the id shown or proposed is the one on record
	Remaining time.Duration   // how long it still has
}

func (e *LeaseError) Error() string {
	return fmt.Sprintf("%s refused by the lease: %s", e.Action, e.Reason)
}

// LeaseRequest is one of the five lease operations.
type LeaseRequest struct {
	Action   Action
	ID       leasehold.ID   // renew, change, release
	Proposed leasehold.ID   // acquire (zero: the server makes one), change
	Duration time.Duration  // acquire; leasehold.Infinite or 15 to 60 s
	Period   *time.Duration // break; nil: none was sent
	Final    bool           // a lease that has ended is gone: it is not renewed, released or broken
	If       Conditions
	Caller   string
}

// LeaseAnswer is the answer to a lease operation.
type LeaseAnswer struct {
	ID        leasehold.ID  // for the owner: acquire, renew, change
	Remaining time.Duration // break: until it is broken
	Ticks     Ticks         // ETag and last change of what is leased: not touched
}

// Lease carries out a lease operation on a blob, or on a container if ref names
// no blob.
func (c *Catalog) Lease(ctx context.Context, ref Ref, r LeaseRequest) (LeaseAnswer, error) {
	b, err := c.readBlob(ctx, ref)
	if err != nil {
		return LeaseAnswer{}, err
	}
	defer b.unlock()
	answer := LeaseAnswer{Ticks: b.ticks()}
	resource, conditions := ref.Resource(), b.check(r.If)
	err = c.commit(ctx, change{resource: resource, lease: func(v engine.View) (machine.Outcome, error) {
		if conditions != nil { // here they come before the lease
			return machine.Outcome{}, conditions
		}
		o := r.decide(v, resource, ref.Holder())
		if o.Reason != "" {
			return o, refused(ref.Blob == "", r.Action, o, v.Now)
		}
		answer.ID, answer.Remaining = o.Row.ID, o.Row.Remaining(v.Now)
		c.note(&o, r.Caller)
		return o, nil
	}})
	if err != nil {
		return LeaseAnswer{}, err
	}
	return answer, nil
}

// policy is Azure's, unless an ended lease is gone.
func (r LeaseRequest) policy() machine.Policy {
	p := machine.Azure
	if r.Final {
		p.Revive, p.ReleaseEnded, p.BreakEnded = false, false, false
	}
	return p
}

// decide applies the machine's rules.
func (r LeaseRequest) decide(v engine.View, resource, holder string) machine.Outcome {
	policy := r.policy()
	switch r.Action {
	case Acquire:
		unlimited := leasehold.Unlimited
		a := leasehold.AcquireRequest{Resource: resource, Holder: holder, ID: r.Proposed, TTL: r.Duration, MaxRenewals: &unlimited}
		return machine.Acquire(v.Now, a, v.Fresh, []machine.Row{v.Row}, nil, policy)
	case Renew:
		return machine.Renew(v.Now, leasehold.RenewRequest{ID: r.ID}, v.Fresh, v.Row, policy)
	case Change:
		return machine.Change(v.Now, leasehold.ChangeRequest{ID: r.ID, Proposed: r.Proposed}, v.Row, nil, policy)
	case Release:
		return machine.Release(v.Now, leasehold.ReleaseRequest{ID: r.ID}, v.Row, policy)
	default:
		return machine.Break(v.Now, leasehold.BreakRequest{Period: r.Period}, v.Row, policy)
	}
}

func refused(ofContainer bool, action Action, o machine.Outcome, now machine.Instant) error {
	return &LeaseError{
		Container: ofContainer, Action: action, Reason: o.Reason,
		State: o.Row.At(now).State, SameID: o.SameID, Remaining: o.Row.Remaining(now),
	}
}

// note writes the caller's address into the history.
func (c *Catalog) note(o *machine.Outcome, caller string) {
	if caller == "" || len(o.Steps) == 0 {
		return
	}
	last := &o.Steps[len(o.Steps)-1]
	if last.Details == nil {
		last.Details = c.callers.details(caller)
		return
	}
	last.Details["caller"] = caller
}

// callers keeps the details that records of the same caller share: the engine
// remembers thousands of records, and a map for each would be most of their
// memory. Nobody changes a record's details.
type callers struct {
	mu    sync.Mutex
	known map[string]map[string]string
}

// maxCallers bounds the memory: beyond it, all are forgotten.
const maxCallers = 1000

func (k *callers) details(caller string) map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.known[caller]; d != nil {
		return d
	}
	if k.known == nil || len(k.known) >= maxCallers {
		k.known = map[string]map[string]string{}
	}
	d := map[string]string{"caller": caller}
	k.known[caller] = d
	return d
}

// viewOf is what everybody may see of a lease.
func viewOf(v engine.View) LeaseView {
	row := v.Row.At(v.Now)
	view := LeaseView{Status: "unlocked", State: "available"}
	switch row.State {
	case leasehold.StateActive:
		view = LeaseView{Status: "locked", State: "leased", Duration: "fixed"}
		if row.TTL == leasehold.Infinite {
			view.Duration = "infinite"
		}
	case leasehold.StateBreaking:
		view = LeaseView{Status: "locked", State: "breaking"}
	case leasehold.StateBroken:
		view.State = "broken"
	case leasehold.StateExpired:
		view.State = "expired"
	}
	return view
}

// checkRead checks what a reader of a blob or container shows, its lease id and
// then its conditions, and returns the lease as everybody may see it.
func (c *Catalog) checkRead(ctx context.Context, ref Ref, a Access, t Ticks) (view LeaseView, err error) {
	var refusal error
	err = c.engine.Look(ctx, []string{ref.Resource()}, func(_ int, v engine.View) {
		view = viewOf(v)
		if _, refusal = checkLease(v, ref.Blob == "", a.Lease, machine.Read); refusal == nil {
			refusal = a.If.check(t)
		}
	})
	if err == nil {
		err = refusal
	}
	return view, err
}

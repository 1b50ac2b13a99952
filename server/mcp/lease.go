package mcp

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// renewArgs are the arguments of lease_renew.
type renewArgs struct {
	LeaseID  string  `json:"lease_id" jsonschema:"The lease_id of the lease, from the answer to lease_acquire."`
	Resource string  `json:"resource,omitempty" jsonschema:"Its resource; needed only where the store cannot find a lease by its id."`
	TTL      float64 `json:"ttl_seconds,omitempty" jsonschema:"How long it lasts from now on. Default: as before."`
}

// renew serves lease_renew.
func (c *call) renew(in renewArgs) (Result, error) {
	r := leasehold.RenewRequest{Resource: in.Resource, Holder: c.holder()}
	var err error
	if r.TTL, err = c.ttl(in.TTL, 0); err == nil {
		r.ID, err = leasehold.ParseID(in.LeaseID)
	}
	if err == nil {
		err = r.Validate()
	}
	if err == nil {
		err = c.checkLease(r.ID)
	}
	if err != nil {
		return Result{}, err
	}
	l, err := callStore(c, c.s.store.Renew, r)
	if err != nil {
		c.forget(r.ID, err)
		return Result{}, err
	}
	return granted(l, renewAdvice(l)), nil
}

// releaseArgs are the arguments of lease_release.
type releaseArgs struct {
	LeaseID  string `json:"lease_id" jsonschema:"The lease_id of the lease, from the answer to lease_acquire."`
	Resource string `json:"resource,omitempty" jsonschema:"Its resource; needed only where the store cannot find a lease by its id."`
	Note     string `json:"note,omitempty" jsonschema:"What the next holder should know, such as what you left unfinished."`
}

// release serves lease_release. To release what was released is a success: the answer
// to the first call may have been lost.
func (c *call) release(in releaseArgs) (Result, error) {
	r := leasehold.ReleaseRequest{Resource: in.Resource, Holder: c.holder(), Note: in.Note}
	var err error
	if r.ID, err = leasehold.ParseID(in.LeaseID); err == nil {
		err = r.ValidateAll()
	}
	if err == nil {
		err = c.checkLease(r.ID)
	}
	if err != nil {
		return Result{}, err
	}
	l, err := callStore(c, c.s.store.Release, r)
	if leasehold.ReasonOf(err) == leasehold.ReasonReleased {
		c.session.held.remove(r.ID)
		return Result{Status: leasehold.StateReleased.String(), NextStep: "It was released before. Nothing is left to do."}, nil
	}
	if err != nil {
		c.forget(r.ID, err)
		return Result{}, err
	}
	c.session.held.remove(r.ID)
	c.log("released", l)
	return Result{
		Resource: l.Resource, Token: l.Token, Status: l.State.String(),
		NextStep: "Do not change what it covered any more; acquire it again first.",
	}, nil
}

// forget drops a lease that has ended from those that are released with the session.
func (c *call) forget(id leasehold.ID, err error) {
	if reason := leasehold.ReasonOf(err); reason != leasehold.ReasonMaxRenewals && isGone(err) {
		c.session.held.remove(id)
	}
}

// breakArgs are the arguments of lease_break.
type breakArgs struct {
	Resource string  `json:"resource" jsonschema:"The resource whose lease is to end; of a lease on several, its name as lease_status or a refusal shows it."`
	Reason   string  `json:"reason" jsonschema:"Why. It lands in the history, where the holder finds it."`
	Period   float64 `json:"break_period_seconds,omitempty" jsonschema:"How long its holder may still finish, 0 to 60. Default: 0, at once."`
}

// breakLease serves lease_break.
func (c *call) breakLease(in breakArgs) (Result, error) {
	if err := c.checkRole(auth.RoleOperator); err != nil {
		return Result{}, err
	}
	breaker, ok := c.s.store.(leasehold.Breaker)
	if !ok {
		return Result{}, c.unsupported()
	}
	period, ok := duration(in.Period)
	if !ok {
		period = time.Duration(-1)
	}
	r := leasehold.BreakRequest{Resource: in.Resource, Period: &period, Why: in.Reason}
	if in.Reason == "" {
		return Result{}, leasehold.Invalid("reason", "is empty; say why, for the holder who loses its lease")
	}
	if err := r.Validate(); err != nil {
		return Result{}, err
	}
	l, err := callStore(c, breaker.Break, r)
	if err != nil {
		return Result{}, err
	}
	c.log("broke a lease", l)
	out := Result{
		Resource: l.Resource, Status: l.State.String(), HeldBy: l.Holder, Token: l.Token,
		NextStep: "It is free for the next in line. To have it, call lease_acquire.",
	}
	if l.State == leasehold.StateBreaking {
		out.ExpiresAt, out.Remaining = moment(l.ExpiresAt), seconds(l.Remaining)
		out.NextStep = "Its holder may still finish; it is free when the period ends. Call lease_acquire with wait_seconds to have it then."
	}
	return out, nil
}

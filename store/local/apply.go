package local

import (
	"context"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// act is the way of every operation on one lease: decide under the lock, write
// down, wait until it is durable. The answer is the outcome, or why not.
func (e *Engine) act(ctx context.Context, op string, decide func(machine.Instant) machine.Outcome) (machine.Outcome, machine.Instant, error) {
	d, err := e.decideNow(ctx, op, decide)
	if err != nil {
		return machine.Outcome{}, machine.Instant{}, err
	}
	return d.out, d.now, e.settled(ctx, op, d)
}

// decision is what was decided, and what its answer must wait for.
type decision struct {
	out     machine.Outcome
	now     machine.Instant
	refusal error
	seen    *batch
}

// decideNow decides under the lock and writes down.
func (e *Engine) decideNow(ctx context.Context, op string, decide func(machine.Instant) machine.Outcome) (d decision, err error) {
	if ctx.Err() != nil {
		return d, e.explain(op, "", unavailable(context.Cause(ctx)))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.ready(); err != nil {
		return d, e.explain(op, "", unavailable(err))
	}
	d.now = e.now()
	d.out = decide(d.now)
	d.seen = e.apply(d.now, d.out)
	d.refusal = e.refusal(op, d.now, d.out)
	return d, nil
}

// settled waits until everything that was seen is durable, and returns why the
// answer is no.
func (e *Engine) settled(ctx context.Context, op string, d decision) error {
	if err := e.durable(ctx, d.seen); err != nil {
		return e.explain(op, d.out.Row.Resource, err)
	}
	if d.refusal != nil {
		e.tellRefused(op, d.now, d.out)
	}
	return d.refusal
}

// tellRefused lets watchers know of a refusal, which costs no write.
func (e *Engine) tellRefused(op string, now machine.Instant, out machine.Outcome) {
	e.hub.refuse(func() leasehold.Record {
		return leasehold.Record{
			At: now.WallTime(), Kind: leasehold.KindRefused, Resource: out.Row.Resource,
			Holder: out.Row.Holder, Token: out.Row.Token, Before: out.Row.State, After: out.Row.State,
			Why: string(out.Reason), Details: map[string]string{"operation": op},
		}
	})
}

// apply writes the outcome down and serves whoever waits for what it freed. It
// returns the batch that the answer must wait for, or nil.
func (e *Engine) apply(now machine.Instant, out machine.Outcome) *batch {
	for _, s := range out.Steps {
		e.take(now, s)
	}
	if out.Granted {
		e.token = out.Row.Token
		e.unplace(now, out.Row)
	}
	for _, s := range out.Steps {
		if !s.Row.State.Locked() {
			e.serve(now, s.Row.Resource)
		}
	}
	if out.Row.Resource == "" || seesMore(out.Reason) {
		return e.latest()
	}
	return e.seen(out.Row.Resource)
}

// seesMore says whether a refusal may come of more than the resource's own row:
// of another's, by way of the id, of the absence of any, or of a setting.
func seesMore(r leasehold.Reason) bool {
	switch r {
	case leasehold.ReasonNotFound, leasehold.ReasonIDInUse, leasehold.ReasonBlockingDisabled,
		leasehold.ReasonReleased, leasehold.ReasonExpired, leasehold.ReasonBroken:
		return true
	}
	return false
}

// take carries one step out.
func (e *Engine) take(now machine.Instant, s machine.Step) {
	if s.Row.State == leasehold.StateAvailable {
		if ent := e.table.rows[s.Row.Resource]; ent != nil {
			e.forget(ent)
		}
	} else {
		ent := e.table.put(s.Row)
		e.save(ent)
		e.wakeBy(ent.row)
		if !s.Row.State.Locked() {
			e.forgetExtra(now)
		}
	}
	if s.Kind != "" {
		e.record(leasehold.Record{
			At:       now.WallTime(),
			Kind:     s.Kind,
			Resource: s.Row.Resource,
			Holder:   s.Row.Holder,
			Token:    s.Row.Token,
			Before:   s.Before,
			After:    s.Row.State,
			Renewals: int(s.Row.Renewals),
			Why:      s.Why,
			Details:  s.Details,
		})
	}
}

// record gives the record its number and keeps it if the settings say so.
func (e *Engine) record(r leasehold.Record) {
	if strings.HasPrefix(r.Resource, leasehold.HealthPrefix) {
		return
	}
	if e.down != nil {
		e.owed = append(e.owed, r)
		return
	}
	e.seq++
	r.Seq = e.seq
	e.pending.told = append(e.pending.told, r)
	if e.config.keeps(r.Kind) {
		e.pending.Records = append(e.pending.Records, r)
	}
	e.touch()
	if most := e.historyLimit(); int64(e.seq-e.purged) > most+most/10+fewRecords {
		signal(e.tidy)
	}
}

// refusal turns the machine's no into an error that says who is in the way.
func (e *Engine) refusal(op string, now machine.Instant, out machine.Outcome) error {
	if out.Reason == "" {
		return nil
	}
	err := &leasehold.Error{
		Reason: out.Reason, Op: op, Resource: out.Row.Resource, Store: e.kind,
		Field: out.Field, Problem: out.Problem,
	}
	switch out.Reason {
	case leasehold.ReasonHeld, leasehold.ReasonBreaking:
		current := out.Row.Lease(now)
		err.Current = &current
		if out.Reason == leasehold.ReasonBreaking {
			err.Remaining = current.Remaining
		}
		err.RetryAfter = max(0, current.Remaining)
		err.Waiting = e.waiting(out.Row.Resource)
	case leasehold.ReasonTooMany:
		err.RetryAfter = e.nextEnd(now)
	}
	return err
}

// explain completes an error with what the engine knows.
func (e *Engine) explain(op, resource string, err error) error {
	x, ok := err.(*leasehold.Error)
	if !ok {
		return err
	}
	full := *x // it may be shared by everybody in the batch
	full.Op, full.Store = op, e.kind
	if full.Resource == "" {
		full.Resource = resource
	}
	return &full
}

// whole cuts a ttl to whole milliseconds.
func whole(ttl time.Duration) time.Duration {
	if ttl == leasehold.Infinite {
		return ttl
	}
	return ttl.Truncate(time.Millisecond)
}

package sqltx

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// operation is a change of one resource.
type operation struct {
	name string
	need Need // Resource or ID, and Proposed

	// decide is the rule. Known is the row by which the store knows the proposed
	// id.
	decide func(v *settings.Values, now machine.Instant, row machine.Row, known *machine.Row, fresh machine.Fresh) machine.Outcome

	counts  bool         // a grant makes one more live lease, of need.Caller
	unasked leasehold.ID // the id of a grant that is released if nobody receives it
	waits   bool         // a conflict is noted in the row
}

// resource is what errors name: of a caller who shows only an id, what was found.
func (op operation) resource(row machine.Row) string {
	if op.need.Resource == "" {
		return row.Resource
	}
	return op.need.Resource
}

// result is how an operation ended.
type result struct {
	out   machine.Outcome
	now   machine.Instant
	cause error // of ReasonUnavailable
}

// plan is what the rules say about what was found.
type plan struct {
	result
	before machine.Row // as it stood
	write  Write
	count  bool // live leases have to be counted first
	reopen bool // the store has to be opened first, after a move that was given up
}

// Memory is how long an ended lease is remembered.
const Memory = time.Hour

// remembered is the row as the rules see it: without a lease that ended too long
// ago.
func remembered(row machine.Row, now machine.Instant) machine.Row {
	if !row.At(now).State.Locked() && now.Clock-row.Ends > machine.Time(Memory) {
		return machine.Row{Resource: row.Resource}
	}
	return row
}

// How long a waiter's note stands, and when it is written again. A waiter looks at
// least every 6 s.
const (
	waitingFor   = 15 * time.Second
	waitingLeast = 8 * time.Second
)

// plan applies the rule.
func (s *Store) plan(op operation, f Found) plan {
	now := f.Now
	row := remembered(f.Row, now)
	p := plan{result: result{now: now}, before: row.At(now), reopen: f.Control.Mark.ranOut(now)}
	if p.reopen {
		return p
	}
	if cause := f.Control.Mark.at(now).Refusal(true); cause != nil {
		p.out, p.cause = machine.Outcome{Row: row, Reason: leasehold.ReasonUnavailable}, cause
		return p
	}
	values := s.control.decode(f.Control)
	if id := op.need.Proposed; f.Known == nil && !id.IsZero() && (row.ID == id || row.Former == id) {
		f.Known = &row
	}
	known, forget := knownRow(f.Known, now)
	p.out = op.decide(values, now, row, known, s.fresh(op, values, f))
	if p.out.Granted && s.mustCount(op, values, f) {
		p.count = true
		return p
	}
	p.write = s.writeOf(op, values, p, f)
	if len(p.write.Rows) > 0 && forget != row.Resource {
		p.write.Forget = forget
	}
	return p
}

// knownRow is the row of a proposed id as the rules see it. One that is remembered
// no longer is to be forgotten, or its id could not be used again.
func knownRow(row *machine.Row, now machine.Instant) (known *machine.Row, forget string) {
	if row == nil {
		return nil, ""
	}
	r := remembered(*row, now)
	if r.ID.IsZero() {
		return nil, r.Resource
	}
	return &r, ""
}

// writeOf is what to store of an outcome.
func (s *Store) writeOf(op operation, values *settings.Values, p plan, f Found) (w Write) {
	now, out := p.now, p.out
	if n := len(out.Steps); n > 0 {
		w.Rows = []machine.Row{out.Steps[n-1].Row}
		w.Version = newVersion()
		w.Grant = out.Granted
		if p.before.State.Locked() && out.Row.State == leasehold.StateActive {
			w.Until = p.before.Ends
		}
		w.Records, w.Kept = s.records(values, now, out.Steps)
	}
	conflict := out.Reason == leasehold.ReasonHeld || out.Reason == leasehold.ReasonBreaking
	if op.waits && conflict && f.Version != 0 && f.Waiting < now.Clock+machine.Time(waitingLeast) {
		w.Waiting = now.Clock + machine.Time(waitingFor)
	}
	return w
}

// newVersion draws the version of a write. Zero means that there is no row.
func newVersion() int64 { return rand.Int64N(1<<62) + 1 }

// records are the steps for the history.
func (s *Store) records(values *settings.Values, now machine.Instant, steps []machine.Step) (all []leasehold.Record, kept []bool) {
	if s.traits.NoHistory {
		return nil, nil
	}
	for _, step := range steps {
		if step.Kind == "" || strings.HasPrefix(step.Row.Resource, leasehold.HealthPrefix) {
			continue
		}
		all = append(all, leasehold.Record{
			At: now.WallTime(), Kind: step.Kind,
			Resource: step.Row.Resource, Holder: step.Row.Holder, Token: step.Row.Token,
			Before: step.Before, After: step.Row.State, Renewals: int(step.Row.Renewals),
			Why: step.Why, Details: step.RecordDetails(now),
		})
		kept = append(kept, values.Keeps(step.Kind))
	}
	return all, kept
}

// runner is an operation under way.
type runner struct {
	*Store
	op operation

	doubt  *plan // a Swap whose answer was lost
	before int64 // the version that it was to replace
}

// run executes an operation the short way if it can, else in a Step.
func (s *Store) run(ctx context.Context, op operation) (result, error) {
	r := &runner{Store: s, op: op}
	if s.swapper != nil {
		if res, err, done := r.short(ctx); done {
			return res, err
		}
	}
	return r.step(ctx)
}

// short decides on what the store knows or reads without a lock, and swaps.
func (r *runner) short(ctx context.Context) (res result, err error, done bool) {
	control, values := r.control.last()
	if h, age, ok := r.known.Pop(r.op.need.Resource); ok && values != nil {
		p := r.plan(r.op, Found{Now: h.estimate(age), Row: h.row, Version: h.version, Control: control})
		// A refusal is always read: what is in hand may be old, and nothing shows it.
		if p.out.Reason == "" && swappable(p) {
			return r.swap(ctx, p, h.version, control.Version)
		}
	}
	f, err := r.db.Read(ctx, r.op.need)
	if err != nil {
		return res, r.failures.Read(ctx, r.op.name, r.op.need.Resource, err), true
	}
	p := r.plan(r.op, f)
	if p.count || p.reopen {
		return res, nil, false
	}
	if p.write.IsZero() {
		return p.result, nil, true
	}
	if !swappable(p) {
		return res, nil, false
	}
	return r.swap(ctx, p, f.Version, f.Control.Version)
}

// swappable reports whether a single statement can write all of it.
func swappable(p plan) bool {
	w := &p.write
	return !p.count && len(w.Rows) == 1 && len(w.Records) <= 1 && w.Waiting == 0 && w.Forget == ""
}

// swap writes what was decided, if the row is still the one it was decided on.
func (r *runner) swap(ctx context.Context, p plan, version, control int64) (res result, err error, done bool) {
	d, err := r.swapper.Swap(ctx, Swap{
		Resource: p.out.Row.Resource, Before: version, Control: control, Proposed: r.op.need.Proposed,
		From: p.now.Clock, Write: p.write,
	})
	switch {
	case err == nil:
		res, err = r.finish(ctx, p, d)
		return res, err, true
	case errors.Is(err, ErrRaced):
		return res, nil, false
	}
	failure := r.failures.Complete(r.op.name, r.op.resource(p.out.Row), err, true)
	if failure.Reason != leasehold.ReasonUnknown {
		return res, failure, true
	}
	r.doubt, r.before = &p, version
	return res, failure, false
}

// step executes the operation in transactions: mostly one, and another if live
// leases turn out to have to be counted.
func (r *runner) step(ctx context.Context) (result, error) {
	need := r.op.need
	for {
		var p plan
		var lost, landed bool
		d, err := r.db.Step(ctx, need, func(f Found) Write {
			p = r.plan(r.op, f)
			if r.doubt != nil && !p.reopen {
				landed, lost = f.Version == r.doubt.write.Version, !r.shutsOut(f, &p)
			}
			if landed { // an answered commit says that it is durable, on replicas too
				return Write{Waiting: max(f.Waiting, 1)}
			}
			if p.count || lost {
				return Write{}
			}
			return p.write
		})
		switch {
		case err != nil && r.doubt != nil:
			return result{}, r.failures.New(r.op.name, r.op.need.Resource, leasehold.ReasonUnknown, err)
		case err != nil:
			return result{}, r.failures.Complete(r.op.name, r.op.need.Resource, err, true)
		case landed:
			p = *r.doubt
			d.Token = d.Found.Row.Token
			return r.finish(ctx, p, d)
		case lost:
			return result{}, r.failures.New(r.op.name, r.op.need.Resource, leasehold.ReasonUnknown, errOverwritten)
		case p.reopen:
			if err := r.reopen(ctx); err != nil {
				return result{}, r.failures.Complete(r.op.name, r.op.need.Resource, err, r.doubt != nil)
			}
			continue
		case p.count:
			need = r.countNeed(need, d.Found)
			continue
		}
		return r.finish(ctx, p, d)
	}
}

var errOverwritten = errors.New("the answer was lost, and others have changed the resource since")

// shutsOut makes sure that the Swap in doubt cannot happen any more once p is
// written, and reports whether that is possible: it is if the row is still the one
// that the Swap was to replace, which then gets another version.
func (r *runner) shutsOut(f Found, p *plan) bool {
	if f.Version != r.before {
		return f.Version == r.doubt.write.Version
	}
	if len(p.write.Rows) == 0 && f.Version != 0 && !p.count {
		p.write.Rows, p.write.Version = []machine.Row{f.Row}, newVersion()
	}
	return len(p.write.Rows) > 0 || p.count
}

// finish answers an operation that happened. One that kept a lease alive and may
// have been committed after its end is undone: others may have seen that end.
func (r *runner) finish(ctx context.Context, p plan, d Done) (result, error) {
	if len(p.write.Rows) == 0 {
		return p.result, nil
	}
	if d.Token != 0 && p.write.Grant {
		p.out.Row.Token = d.Token
	}
	latest := d.Now.Clock + machine.Time(time.Since(d.Asked))
	if until := p.write.Until; until != 0 && !r.traits.Serial && latest >= until {
		return r.undo(ctx, p)
	}
	p.now = d.Now
	stored := p.write.Rows[0]
	stored.Token = p.out.Row.Token
	r.written(inHand{row: stored, version: p.write.Version, now: d.Now}, p)
	return p.result, nil
}

// written notes what the store knows now.
func (s *Store) written(h inHand, p plan) {
	if s.swapper != nil {
		kept := h
		kept.row.Metadata = maps.Clone(h.row.Metadata) // the answer has the other one
		s.known.Put(h.row.Resource, h.row.ID, kept)
	}
	s.ends.note(h.row, h.now)
	if len(p.write.Records) > 0 {
		s.watches.Wake()
	}
}

// undo marks a lease as expired that was kept alive too late. If the row is no
// longer that lease, or somebody ended it, there is nothing to undo. One that others
// have changed since is left alone: they were told that it lives.
func (r *runner) undo(ctx context.Context, p plan) (result, error) {
	late, changed := p.out.Row, false
	d, err := r.db.Step(ctx, Need{Resource: late.Resource}, func(f Found) Write {
		row := f.Row
		changed = false
		if row.ID != late.ID || row.Token != late.Token || !row.State.Locked() {
			return Write{}
		}
		if changed = f.Version != p.write.Version; changed {
			return Write{}
		}
		row.Ends = min(row.Ends, f.Now.Clock)
		out := machine.Expire(f.Now, row)
		w := Write{Rows: []machine.Row{out.Row}, Version: newVersion()}
		w.Records, w.Kept = r.records(r.control.decode(f.Control), f.Now, out.Steps)
		return w
	})
	if err == nil && changed {
		err = errOverwritten
	}
	if err != nil {
		return result{}, r.failures.New(r.op.name, late.Resource, leasehold.ReasonUnknown, err)
	}
	p.now = d.Now
	p.out = machine.Outcome{Row: p.before.At(d.Now), Reason: leasehold.ReasonExpired}
	return p.result, nil
}

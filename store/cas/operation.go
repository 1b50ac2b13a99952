package cas

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// operation is a change of one resource.
type operation struct {
	name     string
	resource string

	decide func(found) machine.Outcome // the rule

	caller   string       // whose leases a grant counts among
	proposed leasehold.ID // to be looked for in the whole store; zero: none
	unasked  leasehold.ID // the id of a grant that is released if nobody receives it
	waits    bool         // a conflict says when to come back, not what is shown to remain
	lookedUp bool         // the proposed id was looked for before, when there was a conflict
	timed    bool         // the rule needs to know when the lease ends
}

// found is what an operation decides on.
type found struct {
	now      machine.Instant
	row      machine.Row
	known    *machine.Row     // by which the store knows the proposed id
	settings *settings.Values // nil: the backend keeps none

	full   string // the setting that allows no more live leases; empty: there is room
	fullAt int64
}

// result is how an operation ended.
type result struct {
	out machine.Outcome
	now machine.Instant
}

// attempt is one write, by its mark.
type attempt struct {
	mark string
	result
	before machine.Row // as it stood
	doubt  bool        // the answer was lost, and nothing is known yet
}

// maxMarks is how many writes an item remembers. A write whose answer was lost
// can be found as long as fewer others followed.
const maxMarks = 8

// run loads, decides and swaps until one of the writes counts or none is needed.
func (s *Store) run(ctx context.Context, op operation) (result, error) {
	unlock, err := s.ids.lock(ctx, op.proposed)
	if err != nil {
		return result{}, s.failures.New(op.name, op.resource, leasehold.ReasonUnavailable, err)
	}
	defer unlock()
	r := &runner{Store: s, op: op}
	for {
		res, err, done := r.once(ctx)
		if done {
			return res, err
		}
		if r.doubts == 1 {
			continue // find out at once, before others write over the mark
		}
		if !sleep.For(ctx, backoff(len(r.attempts))) {
			return result{}, r.failed(s.failures.New(op.name, op.resource, leasehold.ReasonUnavailable, errContention))
		}
	}
}

var errContention = errors.New("too many others changed the same resource")

// backoff is the pause after the n-th lost race: short at first, at random so
// that two who raced do not race again.
func backoff(n int) time.Duration {
	most := min(4*time.Millisecond<<min(n, 10), 250*time.Millisecond)
	return mathrand.N(most) + time.Millisecond/2
}

// runner is an operation under way.
type runner struct {
	*Store
	op       operation
	attempts []attempt
	again    bool // it has started before: what others do is to be read

	doubt   bool     // the answer to the last write was lost
	doubts  int      // how often in a row
	version Version  // under which it was written
	marks   []string // of the item before it
}

// once loads, decides and swaps. It is done unless it has to start again.
func (r *runner) once(ctx context.Context) (res result, err error, done bool) {
	item, _, inHand := r.known.Pop(r.op.resource)
	if inHand = inHand && !r.again; !inHand {
		if item, err = r.backend.Load(ctx, r.op.resource); err != nil {
			return res, r.failed(r.failures.Complete(r.op.name, r.op.resource, err, false)), true
		}
	}
	r.again = true
	if a := r.landed(item); a != nil && r.isNumber(*a, item.Row) {
		switch err := r.confirm(ctx, *a); {
		case errors.Is(err, ErrRaced):
			r.attempts, r.doubt = nil, false
			return res, nil, false
		case err != nil:
			return res, r.failed(r.failures.Complete(r.op.name, r.op.resource, err, true)), true
		}
		return r.finish(ctx, r.numbered(*a, item.Row.Token), instant(item.Now))
	}
	if a, err := r.resolve(ctx, item); err != nil {
		return res, r.failed(err), true
	} else if a != nil {
		return r.finish(ctx, *a, instant(item.Now))
	}
	if r.lostTrack(item) {
		return res, r.failed(nil), true
	}
	if r.shutOut(item) {
		r.doubt = false
	}
	if r.op.timed {
		if err := r.fillEnd(ctx, &item); err != nil {
			return res, r.failed(r.failures.Complete(r.op.name, r.op.resource, err, false)), true
		}
	}
	now := instant(item.Now)
	row := remembered(item.Row, r.op.resource, now)
	values, err := r.values(item.Settings)
	if err != nil {
		return res, r.failed(r.failures.New(r.op.name, r.op.resource, leasehold.ReasonUnavailable, err)), true
	}
	out, err := r.decide(ctx, found{now: now, row: row, settings: values}, inHand)
	if err != nil {
		return res, r.failed(err), true
	}
	if out.Reason != "" || len(out.Steps) == 0 {
		if inHand {
			return r.once(ctx) // what is in hand may be old, and nothing would show it
		}
		if out, err = r.withEnd(ctx, item, out); err != nil {
			return res, r.failed(err), true
		}
		return r.nothingToWrite(ctx, item, result{out, now})
	}
	return r.swap(ctx, item, attempt{mark: newMark(), result: result{out, now}, before: row.At(now)})
}

// decide applies the rule. A proposed id is looked for in the whole store unless
// that makes no difference, and live leases are counted for a grant alone: both
// cost more than the rest.
func (r *runner) decide(ctx context.Context, f found, inHand bool) (machine.Outcome, error) {
	if id := r.op.proposed; !id.IsZero() && (f.row.ID == id || f.row.Former == id) {
		f.known = &f.row
	}
	out := r.op.decide(f)
	if r.looksUp(out, f.row, inHand) {
		other, err := r.lookup(ctx, r.op, f.now)
		if err != nil {
			return out, err
		}
		if other != nil {
			f.known = other
			out = r.op.decide(f)
		}
	}
	if !out.Granted || r.op.name != "acquire" {
		return out, nil
	}
	if err := r.checkLimits(ctx, &f, r.op.caller); err != nil || f.full == "" {
		return out, err
	}
	return r.op.decide(f), nil
}

// looksUp reports whether it matters where else the proposed id is.
func (r *runner) looksUp(out machine.Outcome, row machine.Row, inHand bool) bool {
	conflict := out.Reason == leasehold.ReasonHeld || out.Reason == leasehold.ReasonBreaking
	if r.traits.OwnIndex && !conflict && len(r.attempts) == 0 {
		return false // the write finds out
	}
	return !r.op.proposed.IsZero() && row.ID != r.op.proposed &&
		(out.Reason == "" || conflict && !r.op.lookedUp && !inHand)
}

// nothingToWrite answers a refusal. A write in doubt must be shut out first, or
// it could still happen afterwards.
func (r *runner) nothingToWrite(ctx context.Context, item Item, res result) (result, error, bool) {
	if !r.doubt {
		return res, nil, true
	}
	if item.Version == "" {
		return res, r.failed(nil), true // there is no item to write again
	}
	w := Write{Row: item.Row, Was: item, Marks: addMark(newMark(), item.Marks), Settings: item.Settings}
	switch _, err := r.backend.Swap(ctx, item.Version, w); {
	case err == nil:
		return res, nil, true
	case errors.Is(err, ErrRaced):
		return res, nil, false
	default:
		return res, r.failed(nil), true
	}
}

// swap writes what was decided.
func (r *runner) swap(ctx context.Context, item Item, a attempt) (result, error, bool) {
	a.out = r.roundUp(a)
	stored := a.out.Steps[len(a.out.Steps)-1].Row
	r.attempts = append(r.attempts, a)
	written, err := r.backend.Swap(ctx, item.Version, Write{
		Row: stored, Was: item, TTL: r.lasts(a), Marks: addMark(a.mark, item.Marks),
		Records: r.records(a.now, a.out.Steps, item.Settings), Settings: item.Settings,
	})
	if err == nil {
		kept := written
		kept.Row.Metadata = maps.Clone(written.Row.Metadata) // the answer has the other one
		r.known.Put(written.Row.Resource, written.Row.ID, kept)
		return r.finish(ctx, r.numbered(a, written.Row.Token), instant(written.Now))
	}
	failure := r.failures.Complete(r.op.name, r.op.resource, err, true)
	switch {
	case errors.Is(err, ErrRaced) && leasehold.ReasonOf(err) == "":
		r.doubts = 0
	case failure.Reason == leasehold.ReasonUnknown:
		r.doubt, r.version, r.marks = true, item.Version, item.Marks
		r.attempts[len(r.attempts)-1].doubt = true
		r.doubts++
	default:
		return result{}, r.failed(failure), true
	}
	return result{}, nil, false
}

// finish answers a write that happened, by the service's time after it. One that
// needed a live lease and came after its end is undone.
func (r *runner) finish(ctx context.Context, a attempt, now machine.Instant) (result, error, bool) {
	if r.traits.OwnExpiry {
		return restarted(a.result, now), nil, true
	}
	a.now = now
	switch {
	case needsLive(a) && now.Clock >= a.before.Ends:
	case a.out.Granted && now.Clock >= a.out.Row.Ends: // it was under way for all its time
		r.attempts, r.doubt = nil, false
		return result{}, nil, false
	default:
		return a.result, nil, true
	}
	if err := r.undo(ctx, a.out.Row); err != nil {
		r.doubt = true
		return result{}, r.failed(nil), true
	}
	a.out.Reason = leasehold.ReasonExpired
	a.out.Row = a.before.At(now)
	return a.result, nil, true
}

// needsLive reports whether the write kept a lease alive.
func needsLive(a attempt) bool {
	return a.before.State.Locked() && a.out.Row.State == leasehold.StateActive
}

// undo marks a lease as expired that was renewed too late. If the row is no
// longer that lease, or somebody ended it, there is nothing to undo; nor if it was
// renewed again, because the holder has that answer.
func (s *Store) undo(ctx context.Context, late machine.Row) error {
	for n := 0; ; n++ {
		item, err := s.backend.Load(ctx, late.Resource)
		if err != nil {
			return err
		}
		row, now := item.Row, instant(item.Now)
		if row.ID != late.ID || row.Token != late.Token || row.Renewals > late.Renewals || !row.State.Locked() {
			return nil
		}
		row.Ends = min(row.Ends, now.Clock)
		out := machine.Expire(now, row)
		_, err = s.backend.Swap(ctx, item.Version, Write{
			Row: out.Row, Marks: addMark(newMark(), item.Marks), Records: s.records(now, out.Steps, item.Settings),
			Settings: item.Settings,
		})
		if err == nil {
			return nil
		}
		inDoubt := s.failures.Complete("", "", err, true).Reason == leasehold.ReasonUnknown
		if !inDoubt && !errors.Is(err, ErrRaced) || !sleep.For(ctx, backoff(n)) {
			return err
		}
	}
}

// landed returns the attempt whose mark the item has, if any.
func (r *runner) landed(item Item) *attempt {
	for i := range r.attempts {
		if slices.Contains(item.Marks, r.attempts[i].mark) {
			return &r.attempts[i]
		}
	}
	return nil
}

// shutOut reports that the item is a later one than the write in doubt was made
// for, so that the write cannot happen any more. A read may be older, too.
func (r *runner) shutOut(item Item) bool {
	return item.Version != r.version && (len(r.marks) == 0 || slices.Index(item.Marks, r.marks[0]) > 0)
}

// lostTrack reports that so many others have written since the write in doubt
// that its mark may have come and gone.
func (r *runner) lostTrack(item Item) bool {
	if !r.doubt || item.Version == r.version || len(item.Marks) < maxMarks {
		return false
	}
	return !slices.ContainsFunc(item.Marks, func(m string) bool { return slices.Contains(r.marks, m) })
}

// failed is the error of an operation that could not go on: what happened is
// unknown if a write is in doubt.
func (r *runner) failed(err error) error {
	if !r.doubt {
		return err
	}
	return r.failures.New(r.op.name, r.op.resource, leasehold.ReasonUnknown, err)
}

// roundUp moves the new end of a lease by the grain of the service's clock: the
// time that it was counted from may be that much behind.
func (s *Store) roundUp(a attempt) machine.Outcome {
	out, last := a.out, len(a.out.Steps)-1
	end := out.Row.Ends
	switch kind := out.Steps[last].Kind; {
	case s.traits.Grain == 0 || end == machine.Never:
		return out
	case kind == leasehold.KindAcquired, kind == leasehold.KindRenewed:
		end += machine.Time(s.traits.Grain)
	case kind == leasehold.KindBreaking:
		end = min(end+machine.Time(s.traits.Grain), a.before.Ends)
	}
	out.Steps = slices.Clone(out.Steps)
	out.Row.Ends, out.Steps[last].Row.Ends = end, end
	return out
}

// memory is how long an ended lease is remembered.
const memory = time.Hour

// remembered is the row as the rules see it: without a lease that ended too long
// ago.
func remembered(row machine.Row, resource string, now machine.Instant) machine.Row {
	if !row.At(now).State.Locked() && now.Clock-row.Ends > machine.Time(memory) {
		return machine.Row{Resource: resource, Token: row.Token}
	}
	row.Resource = resource
	return row
}

func newMark() string { return rand.Text()[:16] }

func addMark(mark string, before []string) []string {
	marks := append([]string{mark}, before...)
	return marks[:min(len(marks), maxMarks)]
}

// records are the steps for the history.
func (s *Store) records(now machine.Instant, steps []machine.Step, text string) []Record {
	var all []Record
	for _, step := range steps {
		if step.Kind == "" || strings.HasPrefix(step.Row.Resource, leasehold.HealthPrefix) {
			continue
		}
		all = append(all, s.record(leasehold.Record{
			At: now.WallTime(), Kind: step.Kind,
			Resource: step.Row.Resource, Holder: step.Row.Holder, Token: step.Row.Token,
			Before: step.Before, After: step.Row.State, Renewals: int(step.Row.Renewals),
			Why: step.Why, Details: step.RecordDetails(now),
		}, text))
	}
	return all
}

// record is a record for the history, kept or not by the settings.
func (s *Store) record(r leasehold.Record, text string) Record {
	values, err := s.values(text)
	return Record{Record: r, Kept: err != nil || values == nil || values.Keeps(r.Kind)}
}

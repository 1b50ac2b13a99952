package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
)

// Result is what a run has done.
type Result struct {
	Plan
	Copied int64
	Token  uint64        // every token of the target is larger
	Closed time.Duration // from the source's first refusal until the target was open
}

// Run moves the leases of source to target, or does what is left of a move that was
// interrupted. After an error the same call may be made again, by anybody, at any
// time: until the commit point the source has all leases, after it the target.
func Run(ctx context.Context, source, target Store, o Options) (Result, error) {
	r := &run{source: source, target: target, o: o.withDefaults()}
	plan, err := NewPlan(ctx, source, target, o)
	if err != nil || plan.Stage == Finished {
		return Result{Plan: plan}, err
	}
	r.result.Plan, r.began = plan, time.Now()
	if plan.Stage == Finish {
		r.id = plan.source.ID
		return r.result, r.finish(ctx)
	}
	r.id = newRun(plan.source)
	if err := r.moveLeases(ctx); err != nil {
		return r.result, err
	}
	err = r.finish(ctx)
	r.result.Closed = time.Since(r.began)
	return r.result, err
}

type run struct {
	source, target Store
	o              Options
	id             string
	result         Result

	began    time.Time
	extended time.Time   // when the source was last told to stay closed
	ends     []time.Time // of the live leases copied, at the earliest; zero: none
}

func (r *run) mark(s State) Mark {
	m := Mark{ID: r.id, State: s, Peer: r.o.To}
	switch s {
	case Leaving:
		m.Lasts = r.o.Lasts
	case Arriving:
		m.Peer = r.o.From
	}
	return m
}

// moveLeases goes up to the commit point. If it fails before it, it opens the source
// again at once instead of leaving that to the time.
func (r *run) moveLeases(ctx context.Context) error {
	r.extended = time.Now()
	err := swap(ctx, r.source, r.result.source, r.mark(Leaving))
	if err == nil {
		err = r.closeTarget(ctx)
	}
	if err == nil {
		err = r.copyLeases(ctx)
	}
	if err == nil {
		// Nothing that was sent and not answered may still commit after this has failed
		// and the source was opened: the mark it would replace is gone then.
		err = swap(ctx, r.source, r.mark(Leaving), r.mark(Left))
	}
	if err == nil {
		return nil
	}
	return r.openSource(ctx, r.describe(err))
}

// openSource ends a run that has failed: the source opens, unless another run has it.
// If it has left all the same, and only the answer was lost, there is no failure.
func (r *run) openSource(ctx context.Context, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	open := r.mark(Open)
	open.Peer = ""
	err := r.source.SwapMoveMark(ctx, r.mark(Leaving), open)
	if err == nil {
		return failed
	}
	if now, lookErr := r.source.MoveMark(ctx); lookErr == nil && now.Is(r.mark(Left)) {
		return nil
	}
	if errors.Is(err, ErrMarkChanged) {
		return failed
	}
	return fmt.Errorf("%w (the source opens by itself within %v)", failed, r.o.Lasts)
}

// closeTarget closes the target for this run. It takes it over from earlier runs
// only: the source's mark is read after the target's, and a later run would have
// changed it first.
func (r *run) closeTarget(ctx context.Context) error {
	for range 5 {
		target, err := again(ctx, r.target.MoveMark)
		if err != nil {
			return err
		}
		if target.ID == r.id && target.State != Arriving {
			return refused(fmt.Sprintf("%s and %s are the same store", r.o.From, r.o.To), "name two")
		}
		if err := refuseTarget(r.mark(Leaving), target, r.o); err != nil {
			return err
		}
		source, err := again(ctx, r.source.MoveMark)
		if err != nil {
			return err
		}
		if !source.Is(r.mark(Leaving)) {
			return ErrMarkChanged
		}
		err = swap(ctx, r.target, target, r.mark(Arriving))
		if used, ok := errors.AsType[*InUseError](err); ok {
			return inUse(used.Why, r.o)
		}
		if !errors.Is(err, ErrMarkChanged) {
			return err
		}
	}
	return ErrMarkChanged
}

// copyLeases makes the target's leases, token base and settings the source's.
func (r *run) copyLeases(ctx context.Context) error {
	arriving := r.mark(Arriving)
	for more := true; more; {
		var err error
		more, err = again(ctx, func(ctx context.Context) (bool, error) { return r.target.Clear(ctx, arriving) })
		if err = r.stay(ctx, err); err != nil {
			return err
		}
	}
	summary, err := again(ctx, r.source.MoveSummary)
	if err != nil {
		return err
	}
	r.result.Summary, r.result.Token = summary, summary.Token
	if err := r.copyRows(ctx, summary.Live+summary.Ended); err != nil {
		return err
	}
	err = retry(ctx, func(ctx context.Context) error {
		return r.target.ImportBase(ctx, arriving, summary.Token, summary.Settings)
	})
	if err = r.stay(ctx, err); err != nil {
		return err
	}
	return r.compare(ctx)
}

func (r *run) copyRows(ctx context.Context, all int64) error {
	for after := ""; ; {
		read := time.Now()
		leases, err := again(ctx, func(ctx context.Context) ([]Lease, error) { return r.source.Export(ctx, after, r.o.Batch) })
		if err != nil || len(leases) == 0 {
			return err
		}
		err = retry(ctx, func(ctx context.Context) error { return r.target.Import(ctx, r.mark(Arriving), leases) })
		if err = r.stay(ctx, err); err != nil {
			return err
		}
		after = leases[len(leases)-1].Row.Resource
		r.result.Copied += int64(len(leases))
		for _, l := range leases {
			switch {
			case l.Remaining == leasehold.Infinite:
				r.ends = append(r.ends, time.Time{})
			case l.Remaining > 0:
				r.ends = append(r.ends, read.Add(l.Remaining))
			}
		}
		r.o.Progress(r.result.Copied, max(all, r.result.Copied))
	}
}

// compare refuses to commit if the target does not have what it was given. A store
// may forget leases that have ended.
func (r *run) compare(ctx context.Context) error {
	got, err := again(ctx, r.target.MoveSummary)
	if err != nil {
		return err
	}
	var live int64
	for now, i := time.Now(), 0; i < len(r.ends); i++ {
		if r.ends[i].IsZero() || r.ends[i].After(now) {
			live++
		}
	}
	if n := got.Live + got.Ended; n < live || n > r.result.Copied || got.Token < r.result.Token {
		return fmt.Errorf("the copy is not complete: %d leases were copied, and %s has %d, with the token base %d for %d; nothing was moved",
			r.result.Copied, r.o.To, n, got.Token, r.result.Token)
	}
	return nil
}

// stay keeps the source closed. It is called between steps, which are short: a run
// that stalls for longer than the mark lasts has lost it and must not go on.
func (r *run) stay(ctx context.Context, err error) error {
	if err != nil || time.Since(r.extended) < r.o.Lasts/4 {
		return err
	}
	now := time.Now()
	err = retry(ctx, func(ctx context.Context) error {
		return r.source.SwapMoveMark(ctx, r.mark(Leaving), r.mark(Leaving))
	})
	r.extended = now
	return err
}

// finish does what is left after the commit point. Another run may do the same: a
// mark that has changed has gone further.
func (r *run) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*deleteTimeout) // now it is shorter to go on
	defer cancel()
	err := swap(ctx, r.target, r.mark(Arriving), r.mark(Open))
	if err == nil || errors.Is(err, ErrMarkChanged) {
		err = swap(ctx, r.source, r.mark(Left), r.mark(Moved))
	}
	if err != nil && !errors.Is(err, ErrMarkChanged) {
		return fmt.Errorf("the leases are on %s, and the move is not finished; run the same command again: %w", r.o.To, err)
	}
	return nil
}

// describe says what a changed mark means to a run that has not committed.
func (r *run) describe(err error) error {
	if !errors.Is(err, ErrMarkChanged) {
		return err
	}
	return fmt.Errorf("nothing was moved by this run: another one has taken over, or it took longer than the %v for which %s stays closed; look at both stores by running the command without --yes: %w",
		r.o.Lasts, r.o.From, err)
}

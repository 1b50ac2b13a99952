package move

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// Options say how leases are moved. From and To are needed.
type Options struct {
	// From and To are the URLs of the two stores, without secrets: for marks and messages.
	From, To string

	// Lasts is how long the source stays closed if the mover dies. Default 30 s.
	Lasts time.Duration

	// Batch is how many leases go in one step. Default 500.
	Batch int

	// Progress is told how far the copy is. Default: nobody is.
	Progress func(copied, all int64)
}

func (o Options) withDefaults() Options {
	if o.Lasts <= 0 {
		o.Lasts = 30 * time.Second
	}
	if o.Batch <= 0 {
		o.Batch = 500
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	return o
}

// Plan is what Run would do.
type Plan struct {
	Stage          Stage
	Summary        Summary // of the source; empty once the leases have left it
	source, target Mark
}

// Stage is how far a move is.
type Stage int

const (
	Ready    Stage = iota // nothing has left the source
	Restart               // as Ready, after a run that was interrupted: its copy is thrown away
	Finish                // the leases are on the target; one of the two does not say so yet
	Finished              // nothing is left to do
)

// RefusedError says why these two stores are not a source and a target, and what to
// do. Nothing was changed.
type RefusedError struct{ Problem, Advice string }

func (e *RefusedError) Error() string { return e.Problem + "; " + e.Advice }

func refused(problem, advice string, args ...any) error {
	return &RefusedError{Problem: problem, Advice: fmt.Sprintf(advice, args...)}
}

// NewPlan says what Run would do, and refuses what Run would refuse. It only reads.
func NewPlan(ctx context.Context, source, target Store, o Options) (Plan, error) {
	o = o.withDefaults()
	var p Plan
	var err error
	if p.source, err = source.MoveMark(ctx); err != nil {
		return p, err
	}
	if p.target, err = target.MoveMark(ctx); err != nil {
		return p, err
	}
	if p.source.State == Left || p.source.State == Moved {
		p.Stage, err = afterCommit(p.source, p.target, o)
		return p, err
	}
	if err := refuseSource(p.source, p.target, o); err != nil {
		return p, err
	}
	if err := refuseTarget(p.source, p.target, o); err != nil {
		return p, err
	}
	if p.target.State == Arriving {
		p.Stage = Restart
	} else if why, err := target.InUse(ctx); err != nil {
		return p, err
	} else if why != "" {
		return p, inUse(why, o)
	}
	if p.Summary, err = source.MoveSummary(ctx); err != nil {
		return p, err
	}
	if s := p.Summary; s.Token == 0 && s.Live+s.Ended == 0 {
		return p, refused(fmt.Sprintf("%s has never given out a lease", o.From), "is that the right store?")
	}
	return p, refuseNotes(p.Summary.Notes, target, o)
}

// refuseNotes refuses a target that would lose notes.
func refuseNotes(n int64, target Store, o Options) error {
	if n == 0 || target.KeepsNotes() {
		return nil
	}
	return refused(fmt.Sprintf("holders have left notes on %d leases of %s, and %s keeps none", n, o.From, o.To),
		"try again when the next holders have read them and released, or an hour after the release that left the last one")
}

// afterCommit is the stage of a move whose source is closed for good. The target waits
// for the same run, or was opened by it and may have been moved on since. Any other
// store is refused, also a new one under the target's name.
func afterCommit(source, target Mark, o Options) (Stage, error) {
	opened := target.ID == source.ID && target.State == Open ||
		target.State != Arriving && sameMove(source, target) && source.Peer == o.To
	switch {
	case target.ID == source.ID && target.State == Arriving:
		return Finish, nil
	case !opened:
		return 0, refused(fmt.Sprintf("the leases of %s were moved to %s", o.From, source.Peer),
			"%s does not have them: name %s instead", o.To, source.Peer)
	case source.State == Left:
		return Finish, nil
	}
	return Finished, nil
}

// refuseSource refuses a source that takes part in another move.
func refuseSource(source, target Mark, o Options) error {
	switch {
	case source.State == Arriving:
		return refused(fmt.Sprintf("a move to %s is not finished", o.From),
			"run it again first: leasehold move --from %s --to %s --yes", source.Peer, o.From)
	case source.State == Leaving && source.Peer != o.To && !(target.State == Arriving && sameMove(source, target)):
		return refused(fmt.Sprintf("%s is being moved to %s", o.From, source.Peer),
			"if that move was interrupted, wait %v and try again", (source.Lasts + time.Second).Round(time.Second))
	}
	return nil
}

// refuseTarget refuses a target that takes part in another move. One that a run for
// the same source has left behind is taken over: that run can no longer commit once
// the source has a new mark.
func refuseTarget(source, target Mark, o Options) error {
	switch target.State {
	case Leaving:
		return refused(fmt.Sprintf("%s is itself being moved to %s", o.To, target.Peer), "wait for the end of that move")
	case Left:
		return refused(fmt.Sprintf("the move from %s to %s is not finished", o.To, target.Peer),
			"run it again first: leasehold move --from %s --to %s --yes", o.To, target.Peer)
	case Arriving:
		if !sameMove(source, target) {
			return refused(fmt.Sprintf("a move from %s to %s is not finished", target.Peer, o.To),
				"run it again first, or name an empty target")
		}
	}
	return nil
}

func inUse(why string, o Options) error {
	return refused(fmt.Sprintf("%s is in use: %s", o.To, why), "name an empty target")
}

// An ID is MOVE/RUN. MOVE stays with the leases: the runs of one command have it, and
// so has every store that the leases come to, so exactly one store at a time is open
// with it. RUN is new for each run, so no two take each other's marks for their own.

func newRun(source Mark) string {
	name, _, ok := strings.Cut(source.ID, "/")
	if !ok {
		name = random()
	}
	return name + "/" + random()
}

// random returns a name that nobody has used.
func random() string { return leasehold.NewID().Reveal() }

func sameMove(a, b Mark) bool {
	name, _, ok := strings.Cut(a.ID, "/")
	other, _, _ := strings.Cut(b.ID, "/")
	return ok && name == other
}

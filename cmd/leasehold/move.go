package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/spf13/cobra"
)

const moveHelp = `Move all leases from one store to an empty one: with their ids, holders, tokens,
metadata and remaining time, and with the settings. Every token of the new store is
larger than every one of the old. The history stays behind, and so do blobs and
their leases. Without --yes it only says what it would do; in PostgreSQL it makes
the tables, if there are none.

Stop a server that has the database file open; servers on a networked store may go
on. While the leases are copied both stores refuse changes: acquires and renewals
fail for some seconds. Then the old store refuses everything, for good, and says
where its leases are: start servers on the new one, at the same addresses, before
the leases end.

It may be interrupted at any time, or killed: at most one of the two stores gives
out leases. Run the same command again to finish it. If it has not come to the
point where the leases change sides, the old store opens again by itself after
--reopen-after.

Passwords: $LEASEHOLD_FROM_SECRET and $LEASEHOLD_TO_SECRET, else
$LEASEHOLD_STORE_SECRET, or as each URL says.`

// moveFlags are the flags of one move.
type moveFlags struct {
	from, to string
	yes      bool
	reopen   time.Duration
}

func newMove(a *app) *cobra.Command {
	var f moveFlags
	cmd := &cobra.Command{
		Use: "move --from URL --to URL", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Move all leases to another store", Long: moveHelp,
		Example: "  leasehold move --from sqlite:leasehold-data/leases.db --to postgres://app@db.internal/leases\n" +
			"  leasehold move --from sqlite:leasehold-data/leases.db --to postgres://app@db.internal/leases --yes",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "URL of the store that has the leases")
	flags.StringVar(&f.to, "to", "", "URL of an empty store")
	flags.BoolVar(&f.yes, "yes", false, "do it; default: say what would be done")
	f.reopen = 30 * time.Second
	flags.Var(durationFlag{value: &f.reopen}, "reopen-after", "when the old store opens again if this command dies half-way")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.checkMove(cmd, f); err != nil {
			return err
		}
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		err := interruptionOr(ctx, a.move(ctx, f))
		if i, ok := errors.AsType[*interruption](err); ok {
			return &advised{i, "run the same command again; without --yes it says how far the move is"}
		}
		return err
	}
	return cmd
}

func (a *app) checkMove(cmd *cobra.Command, f moveFlags) error {
	switch {
	case f.from == "" || f.to == "":
		return usagef("names no two stores; want leasehold move --from URL --to URL")
	case a.storeURL != "":
		return usagef("has --store; want --from and --to")
	case f.reopen < time.Second:
		return usagef("--reopen-after is %v; want at least 1s", f.reopen)
	}
	return nil
}

func (a *app) move(ctx context.Context, f moveFlags) error {
	from, err := openMoved(ctx, "from", f.from, true)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := openMoved(ctx, "to", f.to, !f.yes && open.Kind(f.to) != powers.KindPostgres) // an empty schema is made even to plan
	switch {
	case errors.Is(err, sqlite.ErrMissing): // it would be made
		to = nil
	case err != nil:
		return err
	default:
		defer to.Close()
	}
	o := move.Options{From: open.Shown(f.from), To: open.Shown(f.to), Lasts: f.reopen}
	if !f.yes {
		return a.planMove(ctx, from, to, o)
	}
	progress := a.newProgress()
	shown := time.Now()
	o.Progress = func(copied, all int64) {
		if time.Since(shown) >= pollEvery {
			shown = time.Now()
			progress.print(fmt.Sprintf("%d of %d leases copied", copied, all))
		}
	}
	result, err := move.Run(ctx, from, to, o)
	progress.stop()
	if err != nil {
		return moveError(err)
	}
	return a.printMoved(result, o)
}

// openMoved opens one side of a move.
func openMoved(ctx context.Context, side, url string, mustExist bool) (open.Movable, error) {
	secret := cmp.Or(os.Getenv("LEASEHOLD_"+strings.ToUpper(side)+"_SECRET"), os.Getenv(secretVariable))
	s, err := open.Move(ctx, url, &open.Options{Secret: secret, MustExist: mustExist})
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, sqlite.ErrInUse):
		return nil, &advised{fmt.Errorf("--%s: %w", side, err), "stop the process that has the file, and run this again"}
	case errors.Is(err, sqlite.ErrMissing) && side == "from":
		return nil, &advised{fmt.Errorf("--%s: %w", side, err), "nothing is there to be moved: is the name right?"}
	}
	return nil, fmt.Errorf("--%s: %w", side, err)
}

// advised is an error with the next step.
type advised struct {
	error
	next string
}

func (e *advised) Unwrap() error  { return e.error }
func (e *advised) advice() string { return e.next }

// moveError gives refusals their exit code.
func moveError(err error) error {
	if refused, ok := errors.AsType[*move.RefusedError](err); ok {
		return &advised{&exitError{exitConflict, refused.Problem}, refused.Advice}
	}
	if errors.Is(err, move.ErrMarkChanged) {
		return &advised{&exitError{exitConflict, err.Error()}, "run the same command again"}
	}
	return &advised{err, "run the same command again; it goes on where this one stopped"}
}

// planMove says what would be done. A target that is nil is not there yet.
func (a *app) planMove(ctx context.Context, from, to open.Movable, o move.Options) error {
	var target move.Store = noStore{}
	if to != nil {
		target = to
	}
	plan, err := move.NewPlan(ctx, from, target, o)
	if err != nil {
		return moveError(err)
	}
	if a.json {
		return a.printJSON(moveAnswer(plan, o))
	}
	w := &strings.Builder{}
	switch plan.Stage {
	case move.Finished:
		return a.printMoved(move.Result{Plan: plan}, o)
	case move.Finish:
		fmt.Fprintf(w, "The leases of %s are on %s already; a move was interrupted.\nNothing was changed. Add --yes to finish it.\n", o.From, o.To)
	default:
		if plan.Stage == move.Restart {
			fmt.Fprintf(w, "A move was interrupted before the leases changed sides; it would start over.\n")
		}
		describeMove(w, plan, o)
		fmt.Fprintf(w, "Nothing was changed. Add --yes to do it.\n")
	}
	_, err = fmt.Fprint(a.out, w)
	return err
}

func describeMove(w *strings.Builder, plan move.Plan, o move.Options) {
	s := plan.Summary
	fmt.Fprintf(w, "Would move from %s\n             to %s:\n", o.From, o.To)
	fmt.Fprintf(w, "  %s, with ids, holders, tokens, metadata and remaining time\n", count(s.Live, "lease"))
	if s.Ended > 0 {
		fmt.Fprintf(w, "  %s that ended within the last hour\n", count(s.Ended, "lease"))
	}
	fmt.Fprintf(w, "  the settings, and the token base: every new token is larger than %d\n", s.Token)
	fmt.Fprintf(w, "It would leave behind the history")
	if s.Scoped > 0 {
		fmt.Fprintf(w, ", and %s with the blobs", count(s.Scoped, "blob lease"))
	}
	fmt.Fprintf(w, ".\nBoth stores refuse changes meanwhile: acquires and renewals fail for some seconds.\n")
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (a *app) printMoved(r move.Result, o move.Options) error {
	if a.json {
		answer := moveAnswer(r.Plan, o)
		answer.Moved = true
		answer.ClosedSeconds = r.Closed.Seconds()
		return a.printJSON(answer)
	}
	w := &strings.Builder{}
	switch r.Stage {
	case move.Finished:
		fmt.Fprintf(w, "The leases of %s were moved to %s before; there is nothing to do.\n", o.From, o.To)
	case move.Finish:
		fmt.Fprintf(w, "Finished the interrupted move from %s\n                              to %s.\n", o.From, o.To)
	default:
		fmt.Fprintf(w, "Moved %s to %s; every new token is larger than %d.\n", count(r.Summary.Live, "lease"), o.To, r.Token)
		fmt.Fprintf(w, "Changes were refused for %v.\n", r.Closed.Round(time.Millisecond))
	}
	fmt.Fprintf(w, "%s gives out no leases any more; it keeps the history.\n", o.From)
	fmt.Fprintf(w, "Next: leasehold serve --store %s\n", quote(o.To))
	fmt.Fprintf(w, "Holders keep their leases if they reach it, at the address they know, before the leases end.\n")
	_, err := fmt.Fprint(a.out, w)
	return err
}

// movedJSON is the answer in JSON.
type movedJSON struct {
	From          string         `json:"from"`
	To            string         `json:"to"`
	Moved         bool           `json:"moved"` // false: this is what would be done
	Stage         string         `json:"stage"` // how far it was before: ready, restart, finish, finished
	Leases        int64          `json:"leases"`
	Ended         int64          `json:"ended_leases"`
	BlobLeases    int64          `json:"blob_leases_left_behind"`
	Token         uint64         `json:"token_base"`
	Settings      map[string]any `json:"settings"`
	ClosedSeconds float64        `json:"closed_seconds,omitempty"`
}

func moveAnswer(p move.Plan, o move.Options) movedJSON {
	s := p.Summary
	stages := map[move.Stage]string{move.Ready: "ready", move.Restart: "restart", move.Finish: "finish", move.Finished: "finished"}
	return movedJSON{
		From: o.From, To: o.To, Stage: stages[p.Stage], Leases: s.Live, Ended: s.Ended, BlobLeases: s.Scoped, Token: s.Token, Settings: s.Settings,
	}
}

// noStore is a target that is not there yet: empty, for a plan, which only reads.
type noStore struct{ move.Store }

func (noStore) MoveMark(context.Context) (move.Mark, error) { return move.Mark{}, nil }
func (noStore) InUse(context.Context) (string, error)       { return "", nil }
func (noStore) KeepsNotes() bool                            { return true } // it would be a SQLite file

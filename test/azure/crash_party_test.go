//go:build unix

package azuretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// party is somebody who uses the server, in containers of its own, and knows
// what it was told.
type party interface {
	connect(face)                // of the server that runs now
	open(context.Context) error  // makes its containers, once
	work(context.Context) error  // until the server dies
	check(context.Context) error // after the server came back
	close(context.Context) error // deletes its containers
	book() *ledger
}

// ledger is what a party has done.
type ledger struct {
	kind   string
	duties []string       // what must have been done, or the test shows nothing about it
	acks   map[string]int // how often what was done
	cut    map[string]int // how often it was under way when the server died
	found  map[string]int // in which state leases were after the server came back, as they had to be
	doing  string         // what is under way
}

func newLedger(kind string, duties []string) ledger {
	return ledger{kind: kind, duties: duties, acks: map[string]int{}, cut: map[string]int{}, found: map[string]int{}}
}

func (l *ledger) book() *ledger { return l }

// died notes what the death of the server cut off.
func (l *ledger) died() {
	if l.doing != "" {
		l.cut[l.doing]++
	}
}

// add takes over what another party of the same kind has done.
func (l *ledger) add(o *ledger) {
	for what, n := range o.acks {
		l.acks[what] += n
	}
	for what, n := range o.cut {
		l.cut[what] += n
	}
	for state, n := range o.found {
		l.found[state] += n
	}
}

// idle returns the duties that were never done. To take leases is to find some
// after a crash.
func (l *ledger) idle() (never []string) {
	for _, d := range l.duties {
		if l.acks[d] == 0 && !slices.Contains(never, d) {
			never = append(never, d)
		}
	}
	if slices.Contains(l.duties, "acquire") && l.found[leased] == 0 {
		never = append(never, "leases that outlive a server")
	}
	return never
}

func (l *ledger) String() string {
	text := fmt.Sprintf("%s: acknowledged %d (%s); cut off %d (%s)", l.kind, total(l.acks), tally(l.acks), total(l.cut), tally(l.cut))
	if len(l.found) > 0 {
		text += fmt.Sprintf("; leases found %d (%s)", total(l.found), tally(l.found))
	}
	return text
}

// byKind adds up what all parties of a kind have done.
func byKind(parties []party) (all []*ledger) {
	found := map[string]*ledger{}
	for _, p := range parties {
		b := p.book()
		sum := found[b.kind]
		if sum == nil {
			l := newLedger(b.kind, b.duties)
			sum = &l
			found[b.kind] = sum
			all = append(all, sum)
		}
		sum.add(b)
	}
	return all
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func tally(counts map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(all, ", ")
}

// errWrong is part of every error that no death of the server explains.
var errWrong = errors.New("must never happen")

// unlessGone forgets errors that only say that nobody answers any more.
func unlessGone(err error) error {
	if statusOf(err) == 0 && !errors.Is(err, errWrong) {
		return nil
	}
	return err
}

// together runs them all and returns what went wrong.
func together(ctx context.Context, all []func(context.Context) error) error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, f := range all {
		wait.Go(func() { errs[i] = f(ctx) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// everybody lets all parties do the same.
func everybody(ctx context.Context, parties []party, do func(party, context.Context) error) error {
	var all []func(context.Context) error
	for _, p := range parties {
		all = append(all, func(ctx context.Context) error { return do(p, ctx) })
	}
	return together(ctx, all)
}

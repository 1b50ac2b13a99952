package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
)

const hammerWorkers = 8

// event is a line of the process that is killed: what it is about to do, and what it
// was answered.
type event struct {
	Phase  string            // "try", then "did" or "no"; once "ready"
	Op     string            // "acquire", "modes", "release" or "break"
	ID     string            // to the parent, which is the owner
	Holder string            `json:",omitempty"`
	Plain  string            `json:",omitempty"` // the resource of a plain request
	Claims []leasehold.Claim `json:",omitempty"`
	Name   string            `json:",omitempty"` // of the lease
	Token  uint64            `json:",omitempty"`
}

// print writes the line in one system call: a killed process loses no line that is
// written, and others write none into the middle of it.
func (e event) print() {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and numbers
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// hammer acquires and releases until it is killed.
func hammer(path string) error {
	s, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		return err
	}
	event{Phase: "ready"}.print()
	failed := make(chan error)
	for i := range hammerWorkers {
		w := &worker{s: s, name: fmt.Sprintf("worker-%d", i)}
		go func() { failed <- w.run(context.Background()) }()
	}
	return <-failed
}

// worker has a few leases at a time.
type worker struct {
	s    *sqlite.Store
	name string
	held []leasehold.Lease
}

func (w *worker) run(ctx context.Context) error {
	for {
		var err error
		switch n := rand.IntN(10); {
		case len(w.held) == 0 || n < 4 && len(w.held) < 3:
			err = w.acquire(ctx)
		case n < 6:
			err = w.changeModes(ctx)
		case n < 7:
			err = w.end(ctx, "break")
		default:
			err = w.end(ctx, "release")
		}
		if err != nil {
			return err
		}
	}
}

// anyClaims are of few names and patterns, so that they often meet, and of some more,
// so that not all do.
func anyClaims() (claims []leasehold.Claim) {
	of := map[string][]string{
		"":          {"go.mod", "README", "src/a"},
		"repo":      {"src/**", "src/*/x", "src/a/*", "src/a/x", "**/y", "docs/*.md", "docs/a.md", "src/b/**"},
		"services:": {"prod:**", "prod:us:*", "prod:*:db", "test:us:db"},
	}
	for namespace, patterns := range of {
		for _, pattern := range patterns {
			if rand.IntN(15) == 0 {
				claims = append(claims, leasehold.Claim{Namespace: namespace, Pattern: pattern, Mode: leasehold.Mode(rand.IntN(2))})
			}
		}
	}
	for range 1 + rand.IntN(3) {
		path := fmt.Sprintf("lib/%d/%c", rand.IntN(12), 'a'+rune(rand.IntN(3)))
		if rand.IntN(4) == 0 {
			path = path[:len(path)-1] + "**"
		}
		c := leasehold.Claim{Namespace: "repo", Pattern: path, Mode: leasehold.Mode(rand.IntN(2))}
		if !slices.ContainsFunc(claims, func(have leasehold.Claim) bool { return have.Pattern == path }) {
			claims = append(claims, c)
		}
	}
	return claims
}

func (w *worker) acquire(ctx context.Context) error {
	r := leasehold.AcquireRequest{ID: leasehold.NewID(), Holder: w.name, TTL: time.Hour, Sequence: rand.IntN(4) == 0}
	if rand.IntN(6) == 0 {
		r.Resource = []string{"go.mod", "README", "src/a"}[rand.IntN(3)]
	} else {
		r.Claims = anyClaims()
	}
	granted, err := w.request(ctx, "acquire", r)
	if granted != nil {
		w.held = append(w.held, *granted)
	}
	return err
}

// request prints a request before it is made, and its answer. Nil: it was refused.
func (w *worker) request(ctx context.Context, op string, r leasehold.AcquireRequest) (*leasehold.Lease, error) {
	e := event{Phase: "try", Op: op, ID: r.ID.Reveal(), Holder: r.Holder, Plain: r.Resource, Claims: r.Claims}
	e.print()
	try := w.s.Acquire
	if rand.IntN(3) == 0 {
		r.Timeout = time.Duration(1+rand.IntN(20)) * time.Millisecond
		try = w.s.Wait
	}
	g, err := try(ctx, r)
	switch reason := leasehold.ReasonOf(err); {
	case reason == leasehold.ReasonHeld, reason == leasehold.ReasonTimeout, reason == leasehold.ReasonDeadlock:
		event{Phase: "no", Op: op, ID: e.ID}.print()
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	e.Phase, e.Name, e.Token = "did", g.Resource, g.Token
	e.print()
	return &g.Lease, nil
}

// changeModes upgrades or downgrades a set.
func (w *worker) changeModes(ctx context.Context) error {
	i := rand.IntN(len(w.held))
	l := w.held[i]
	if l.Claims == nil {
		return nil
	}
	r := leasehold.AcquireRequest{ID: l.ID, Holder: w.name, TTL: time.Hour}
	changed := rand.IntN(len(l.Claims))
	for n, c := range l.Claims {
		if n == changed || rand.IntN(2) == 0 {
			c.Mode ^= 1
		}
		r.Claims = append(r.Claims, c)
	}
	got, err := w.request(ctx, "modes", r)
	if got != nil {
		w.held[i] = *got
	}
	return err
}

// end ends a lease, some with a note.
func (w *worker) end(ctx context.Context, op string) error {
	i := rand.IntN(len(w.held))
	l := w.held[i]
	e := event{Phase: "try", Op: op, ID: l.ID.Reveal()}
	e.print()
	var err error
	if op == "break" && l.Claims != nil { // a plain name would break sets of others
		_, err = w.s.Break(ctx, leasehold.BreakRequest{Resource: l.Resource})
	} else {
		r := leasehold.ReleaseRequest{ID: l.ID}
		if rand.IntN(2) == 0 {
			r.Note = "note " + leasehold.NewID().Reveal() // no two alike
		}
		_, err = w.s.Release(ctx, r)
	}
	if err != nil {
		return errors.Join(errors.New(op), err)
	}
	w.held = append(w.held[:i], w.held[i+1:]...)
	e.Phase = "did"
	e.print()
	return nil
}

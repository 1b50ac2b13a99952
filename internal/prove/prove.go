// Package prove shows whether the hooks of a repository block what they should: it
// takes a lease on a path that does not exist as somebody else, runs the very command
// that a tool or git would run before a change of that path, and looks whether the
// change is refused, and allowed once the lease is released.
//
// Nothing in the work tree, the index or git's objects changes.
package prove

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/gitguard"
	"github.com/leasehold/leasehold/internal/repo"
)

const (
	// leaseTime is how long the synthetic lease lasts if nobody is left to release it.
	leaseTime = 2 * time.Minute

	// runLimit bounds one run of a hook.
	runLimit = 30 * time.Second
)

// Prover runs the hooks of one repository.
type Prover struct {
	Store     leasehold.Store
	Root      string // top folder of the work tree
	Namespace string // of the repository's paths
	Git       gitguard.Git
	Env       []string // added to the environment of hooks
}

// ErrNotProven means that a hook does not do what it should.
var ErrNotProven = errors.New("does not block")

// attempt is one change that a hook should refuse.
type attempt struct {
	path, holder string
	run          func(context.Context) (outcome, error)
	denied       func(outcome) bool
}

// outcome is what a hook did.
type outcome struct {
	code      int
	out, said string
}

// text is what the hook said, for a message.
func (o outcome) text() string {
	text := strings.Join(strings.Fields(o.said+" "+o.out), " ")
	if text == "" {
		text = "nothing"
	}
	return fmt.Sprintf("it exited with %d and said %.300s", o.code, text)
}

// synthetic returns a name that nobody has, and a path of it.
func synthetic() (name, path string) {
	name = "leasehold-doctor-" + strings.ToLower(rand.Text()[:10])
	return name, ".leasehold-doctor/" + name + ".txt"
}

// refused says whether the server did not let the hook ask: a hook of this program says
// so in the words of the error.
func (o outcome) refused() bool {
	for _, reason := range []leasehold.Reason{leasehold.ReasonForbidden, leasehold.ReasonUnauthenticated} {
		if strings.Contains(o.out+o.said, (&leasehold.Error{Reason: reason}).Error()) {
			return true
		}
	}
	return false
}

// check leases the path, runs the hook, releases, and runs it again. It is ErrForbidden
// if the server refuses that to this program, or to the hook.
func (p *Prover) check(ctx context.Context, a attempt) error {
	r := leasehold.AcquireRequest{
		Claims: []leasehold.Claim{repo.Name{Namespace: p.Namespace, Path: a.path}.Claim()},
		Holder: a.holder, ID: leasehold.NewID(), TTL: leaseTime,
		Metadata: map[string]string{"task": "leasehold doctor --prove"},
	}
	grant, err := p.Store.Acquire(ctx, r)
	if errors.Is(err, leasehold.ErrUnsupported) { // a store without path sets has plain names
		r.Claims, r.Resource = nil, repo.PlainName(r.Claims[0])
		grant, err = p.Store.Acquire(ctx, r)
	}
	if err != nil {
		return err
	}
	held := true
	release := func() error {
		if !held {
			return nil
		}
		held = false
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, err := p.Store.Release(ctx, leasehold.ReleaseRequest{ID: grant.ID, Resource: grant.Resource})
		return err
	}
	defer func() { _ = release() }() // it has an end of its own

	o, err := a.run(ctx)
	switch {
	case err != nil:
		return err
	case !strings.Contains(o.out+o.said, a.holder) && o.refused():
		return fmt.Errorf("%w: the server did not let the hook ask; %s", leasehold.ErrForbidden, o.text())
	case !a.denied(o):
		return fmt.Errorf("%w: it let a change of a path pass that another holds; %s", ErrNotProven, o.text())
	case !strings.Contains(o.out+o.said, a.holder):
		return fmt.Errorf("%w: it refused, but for another reason, as it does not name the holder; %s", ErrNotProven, o.text())
	}
	if err := release(); err != nil {
		return err
	}
	if o, err = a.run(ctx); err != nil {
		return err
	}
	if a.denied(o) {
		return fmt.Errorf("%w: it also refused a change of a path that is free; %s", ErrNotProven, o.text())
	}
	return nil
}

// run runs a program with an input, in the work tree. That it fails is no error.
func (p *Prover) run(ctx context.Context, env []string, input, name string, args ...string) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = p.Root, strings.NewReader(input), time.Second
	cmd.Env = append(append(os.Environ(), p.Env...), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	o := outcome{cmd.ProcessState.ExitCode(), out.String(), said.String()}
	if ctx.Err() != nil {
		return o, fmt.Errorf("%w: it did not end within %v", ErrNotProven, runLimit)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return o, fmt.Errorf("%w: it cannot be run: %w", ErrNotProven, err)
	}
	return o, nil
}

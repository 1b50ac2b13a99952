//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/guard"
)

// acquire asks once, and then waits in line unless that is not wanted. The first
// answer must come: to wait for a server that was never there helps nobody.
func (r *run) acquire(ctx context.Context) (*leasehold.Held, error) {
	ctx, stop := r.interruptible(ctx)
	defer stop()
	held, err := r.manager.TryAcquire(ctx, r.resource)
	if err == nil || r.nonblock || !mayWaitFor(err) {
		return held, interruptionOr(ctx, err)
	}
	p := r.progress(ctx)
	defer p()
	held, err = r.manager.Acquire(ctx, r.resource, leasehold.AcquireOptions{Timeout: r.wait})
	return held, interruptionOr(ctx, err)
}

// mayWaitFor reports whether waiting helps against a refusal.
func mayWaitFor(err error) bool {
	reason := leasehold.ReasonOf(err)
	return reason == leasehold.ReasonHeld || reason == leasehold.ReasonBreaking
}

// progress shows the place in line to whoever watches. A log gets it only if it
// was asked for, since flock is silent.
func (r *run) progress(ctx context.Context) (stop func()) {
	if !r.verbose && !isTerminal(r.err) {
		return func() {}
	}
	p := r.startProgress(ctx, r.store, leasehold.AcquireRequest{Resource: r.resource, Holder: r.manager.Holder()})
	return p.stop
}

// interruptible ends the context when a signal asks the program to end. Later
// signals are the command's.
func (r *run) interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case s := <-r.signals:
				if guard.Ends(s) {
					cancel(&interruption{s})
				}
			case <-stop:
				return
			}
		}
	}()
	return ctx, func() {
		close(stop)
		<-stopped
		cancel(nil)
	}
}

// interruptionOr returns the signal that ended the wait, if one did.
func interruptionOr(ctx context.Context, err error) error {
	var i *interruption
	if err != nil && errors.As(context.Cause(ctx), &i) {
		return i
	}
	return err
}

// refused gives a conflict the code that the user chose.
func (r *run) refused(err error) error {
	if errors.Is(err, leasehold.ErrHeld) {
		return &conflict{err, r.conflictCode, r.resource}
	}
	return err
}

// conflict is a refusal with an exit code of its own.
type conflict struct {
	error
	code     int
	resource string
}

func (c *conflict) advice() string {
	return fmt.Sprintf("leasehold run -w 60 … waits in line for 60 s, and without -n and -w for as long as it takes; "+
		"leasehold status %s shows the queue", quote(c.resource))
}

func (c *conflict) Unwrap() []error { return []error{c.error, &exitError{code: c.code}} }

// environment is the command's: ours, and what it should know of the lease.
func (r *run) environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !told[name] {
			env = append(env, pair)
		}
	}
	ends := ""
	if at := r.held.ExpiresAt(); !at.IsZero() {
		ends = at.UTC().Format(time.RFC3339)
	}
	env = append(env,
		"LEASEHOLD_RESOURCE="+r.resource,
		"LEASEHOLD_TOKEN="+strconv.FormatUint(r.held.Token(), 10),
		"LEASEHOLD_HOLDER="+r.held.Holder(),
		"LEASEHOLD_EXPIRES_AT="+ends,
	)
	if r.exportID {
		env = append(env, "LEASEHOLD_LEASE_ID="+r.held.ID().Reveal())
	}
	return env
}

// told are the variables that speak of this lease; an outer lease's id is not
// the command's business either.
var told = map[string]bool{
	"LEASEHOLD_RESOURCE": true, "LEASEHOLD_TOKEN": true, "LEASEHOLD_HOLDER": true,
	"LEASEHOLD_EXPIRES_AT": true, "LEASEHOLD_LEASE_ID": true,
}

//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/guard"
)

const (
	// closePatience is how long to wait for a store at the end of a run.
	closePatience = 5 * time.Second
	// lostPatience is the same for a lease that is lost.
	lostPatience = 500 * time.Millisecond
)

// runUnderLease acquires, runs the command and releases.
func (a *app) runUnderLease(ctx context.Context, f runFlags, resource string, command []string) error {
	path, err := guard.Find(command[0])
	if err != nil { // better now than after an hour in the queue
		return &exitError{guard.CodeOf(err), err.Error()}
	}
	metadata, err := parsePairs(f.metadata)
	if err != nil {
		return err
	}
	r := &run{app: a, runFlags: f, resource: resource, signals: guard.Signals(), changed: make(chan struct{}, 1), patience: closePatience}
	if r.store, err = a.open(ctx, "leasehold run"); err != nil {
		return err
	}
	r.manager, err = leasehold.NewManager(r.store, &leasehold.Options{
		TTL: f.ttl, Holder: runHolder(f.holder), Metadata: metadata, Observe: r.observe,
	})
	if err != nil {
		return errors.Join(err, r.store.Close())
	}
	defer r.close()
	if r.held, err = r.acquire(ctx); err != nil {
		return r.refused(err)
	}
	r.say("holds %s with token %d", quote(resource), r.held.Token())
	retention := r.startRetention()
	outcome, err := guard.Run(&guard.Command{
		Path: path, Args: command, Env: r.environment(), Grace: f.killAfter, Started: guard.CloseStdio,
		Stuck: retention.stuck, Guardian: guardianArgs,
	}, r, r.signals, func(s string) { r.warn("%s", s) })
	retention.stop()
	return r.finish(outcome, err)
}

// run is one lease and the command under it.
type run struct {
	*app
	runFlags
	resource string
	store    leasehold.Store
	manager  *leasehold.Manager
	held     *leasehold.Held
	signals  chan os.Signal
	changed  chan struct{} // the lease's validity may have
	patience time.Duration // with the store, at the end
}

// Lost, Changed and Validity make it a guard.Lease.
func (r *run) Lost() <-chan struct{}               { return r.held.Context().Done() }
func (r *run) Changed() <-chan struct{}            { return r.changed }
func (r *run) Remaining() (line, end time.Duration) { return r.held.Remaining() }

// observe passes on that the deadline has moved.
func (r *run) observe(e leasehold.Event) {
	switch e := e.(type) {
	case leasehold.Renewed, leasehold.Breaking:
		select {
		case r.changed <- struct{}{}:
		default:
		}
		if b, ok := e.(leasehold.Breaking); ok {
			r.say("%s is being broken; the command has to end within %s", quote(r.resource), span(b.Remaining))
		}
	case leasehold.RenewalFailed:
		if e.WillRetry {
			r.say("%v; trying again", e.Err)
		}
	}
}

// finish gives the lease back, now that nothing runs under it any more, and
// turns the outcome into the program's.
func (r *run) finish(outcome guard.Outcome, err error) error {
	released := r.release(outcome.Lost)
	switch {
	case errors.Is(err, guard.ErrGuardian):
		return &exitError{exitInternal, err.Error()}
	case outcome.Lost || errors.Is(released, leasehold.ErrLost):
		return &exitError{exitLost, fmt.Sprintf("the lease on %s was lost under the command, which ended with %d: %v",
			quote(r.resource), outcome.Code, released)}
	case err != nil:
		return &exitError{guard.CodeOf(err), err.Error()}
	case released != nil:
		r.warn("the lease on %s could not be given back and is left to expire: %v", quote(r.resource), released)
	default:
		r.say("released %s", quote(r.resource))
	}
	if outcome.Code != 0 {
		return &exitError{code: outcome.Code}
	}
	return nil
}

// release gives the lease back. One that is lost soon ends anyway, most often
// because nobody answers: that is not worth a wait.
func (r *run) release(lost bool) error {
	if !lost {
		return r.held.Release(context.Background())
	}
	r.patience = lostPatience
	why := r.held.Err()
	if why == nil { // this program was stopped while the guardian's deadline passed
		why = errors.New("it was not renewed in time")
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		_ = r.held.Release(context.Background())
	}()
	select {
	case <-released:
	case <-time.After(r.patience):
	}
	return why
}

// close tidies up. What hangs ends with the program, which has said all there is
// to say by now.
func (r *run) close() {
	ctx, cancel := context.WithTimeout(context.Background(), r.patience)
	defer cancel()
	go func() {
		defer cancel()
		_ = r.manager.Close(ctx)
		_ = r.store.Close()
	}()
	<-ctx.Done()
}

// warn says what people should know in any case, say what they asked to be told.
func (r *run) warn(format string, args ...any) {
	fmt.Fprintf(r.err, "leasehold: "+format+"\n", args...)
}

func (r *run) say(format string, args ...any) {
	if r.verbose {
		r.warn(format, args...)
	}
}

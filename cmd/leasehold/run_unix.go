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
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/open"
	"github.com/spf13/cobra"
)

const (
	// closeTimeout bounds the wait for a store at the end of a run.
	closeTimeout = 5 * time.Second
	// lostCloseTimeout is the same for a lease that is lost.
	lostCloseTimeout = 500 * time.Millisecond
)

// runUnderLease acquires, runs the command and releases.
func (a *app) runUnderLease(ctx context.Context, f runFlags, request leasehold.AcquireRequest, command []string) error {
	path, err := guard.Find(command[0])
	if err != nil { // now rather than after an hour in the queue
		return &exitError{guard.CodeOf(err), err.Error()}
	}
	metadata, err := parsePairs(f.metadata)
	if err != nil {
		return err
	}
	r := &run{app: a, runFlags: f, request: request, signals: guard.Signals(), changed: make(chan struct{}, 1), closeWithin: closeTimeout,
		trace: observe.Environment(ctx)}
	if r.store, err = a.openBare(ctx, "leasehold run"); err != nil {
		return err
	}
	managed := r.store
	if f.sequence {
		managed = sequentialStore{r.store}
	}
	r.manager, err = a.telemetry.NewManager(managed, open.Kind(a.url()), &leasehold.Options{
		TTL: f.ttl, Holder: holderName(f.holder, os.Getpid()), Metadata: metadata, Observe: r.observe,
	})
	if err != nil {
		return errors.Join(err, r.store.Close())
	}
	defer r.close()
	if r.held, err = r.acquire(ctx); err != nil {
		return r.conflictError(err)
	}
	r.resource = r.held.Resource()
	r.say("holds %s with token %d", leaseName(leasehold.Lease{Resource: r.resource, Claims: r.held.Claims()}), r.held.Token())
	for _, n := range r.held.Notes() {
		r.warn("%s", noteText(n))
	}
	late := r.startLateRenewal()
	outcome, err := guard.Run(&guard.Command{
		Path: path, Args: command, Env: r.environment(), Grace: f.killAfter, Started: guard.CloseStdio,
		Stuck: late.stuck, Guardian: guardianArgs,
	}, r, r.signals, func(s string) { r.warn("%s", s) })
	late.stop()
	return r.finish(outcome, err)
}

// run is one lease and the command under it.
type run struct {
	*app
	runFlags
	request     leasehold.AcquireRequest // its Resource or Claims
	resource    string                   // the lease's name, once it is held
	store       leasehold.Store
	manager     *leasehold.Manager
	held        *leasehold.Held
	signals     chan os.Signal
	changed     chan struct{} // receives when the lease's deadline may have moved
	closeWithin time.Duration // the store has to, at the end
	trace       []string      // variables that name this run to the command
}

// acquire tries once, and then waits in line unless -n is given. The first answer
// must come: a server that never answered is an error.
func (r *run) acquire(ctx context.Context) (*leasehold.Held, error) {
	ctx, stop := r.interruptible(ctx)
	defer stop()
	o := leasehold.AcquireOptions{Claims: r.request.Claims, Timeout: r.wait}
	held, err := r.manager.TryAcquire(ctx, r.request.Resource, o)
	if err == nil || r.nonblock || !mayWaitFor(err) {
		return held, interruptionOr(ctx, err)
	}
	defer r.showProgress(ctx)()
	held, err = r.manager.Acquire(ctx, r.request.Resource, o)
	return held, interruptionOr(ctx, err)
}

// sequentialStore says of every acquire that it is part of the holder's one sequence
// of work. The Manager never does, because its goroutines may share a holder. A server
// of a version that does not know the word gets the request without it.
type sequentialStore struct{ leasehold.Store }

func (s sequentialStore) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return inSequence(ctx, r, s.Store.Acquire)
}

func inSequence(ctx context.Context, r leasehold.AcquireRequest, call func(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error)) (leasehold.Grant, error) {
	r.Sequence = true
	g, err := call(ctx, r)
	if e := (*leasehold.Error)(nil); errors.As(err, &e) && e.Field == "sequence" {
		r.Sequence = false
		return call(ctx, r)
	}
	return g, err
}

// Wait implements leasehold.Waiter.
func (s sequentialStore) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	w, err := power[leasehold.Waiter](s.Store, "acquire")
	if err != nil {
		return leasehold.Grant{}, err
	}
	return inSequence(ctx, r, w.Wait)
}

// Find implements leasehold.Finder, by which the Manager releases a set without a name.
func (s sequentialStore) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	f, err := power[leasehold.Finder](s.Store, "find")
	if err != nil {
		return leasehold.Lease{}, err
	}
	return f.Find(ctx, id)
}

// mayWaitFor reports whether waiting helps.
func mayWaitFor(err error) bool {
	reason := leasehold.ReasonOf(err)
	return reason == leasehold.ReasonHeld || reason == leasehold.ReasonBreaking
}

// showProgress shows the position in the queue on a terminal. A log gets it only
// with --verbose, since flock is silent.
func (r *run) showProgress(ctx context.Context) (stop func()) {
	if !r.verbose && !isTerminal(r.err) {
		return func() {}
	}
	request := r.request
	request.Holder = r.manager.Holder()
	return r.startProgress(ctx, r.store, request).stop
}

// interruptible ends the context when a signal should end the program. After stop
// signals are for the command.
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

// conflictError gives a conflict the exit code of -E.
func (r *run) conflictError(err error) error {
	if errors.Is(err, leasehold.ErrHeld) {
		return &conflict{err, r.conflictCode}
	}
	return err
}

// conflict is an error with an exit code and a hint of its own.
type conflict struct {
	error
	code int
}

func (c *conflict) advice() string {
	e := &leasehold.Error{}
	switch errors.As(c.error, &e); {
	case e.Reason == leasehold.ReasonDeadlock:
		return deadlockHint("leasehold run A B -- …") + "; --sequence=false waits nevertheless"
	case e.Reason == leasehold.ReasonIDInUse:
		return ""
	}
	return narrowHint(e) + "leasehold run -w 60 … waits in line for 60 s, and without -n and -w for as long as it takes" + statusHint(e)
}

func (c *conflict) Unwrap() []error { return []error{c.error, &exitError{code: c.code}} }

// environment returns the command's: this program's, and the lease's variables.
func (r *run) environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !leaseVariables[name] {
			env = append(env, pair)
		}
	}
	env = append(env,
		"LEASEHOLD_RESOURCE="+r.resource,
		"LEASEHOLD_CLAIMS="+claimLines(machine.Covers(r.resource, r.held.Claims())),
		"LEASEHOLD_TOKEN="+strconv.FormatUint(r.held.Token(), 10),
		"LEASEHOLD_HOLDER="+r.held.Holder(),
		"LEASEHOLD_EXPIRES_AT="+endTime(r.held.ExpiresAt()),
	)
	if r.exportID {
		env = append(env, "LEASEHOLD_LEASE_ID="+r.held.ID().Reveal())
	}
	return append(env, r.trace...)
}

// leaseVariables describe this lease and this run. Those of an outer lease are
// dropped, its secret id above all.
var leaseVariables = map[string]bool{
	"LEASEHOLD_RESOURCE": true, "LEASEHOLD_CLAIMS": true, "LEASEHOLD_TOKEN": true, "LEASEHOLD_HOLDER": true,
	"LEASEHOLD_EXPIRES_AT": true, "LEASEHOLD_LEASE_ID": true,
	"TRACEPARENT": true, "TRACESTATE": true,
}

// Lost, Changed and Remaining make it a guard.Lease.
func (r *run) Lost() <-chan struct{}                { return r.held.Context().Done() }
func (r *run) Changed() <-chan struct{}             { return r.changed }
func (r *run) Remaining() (line, end time.Duration) { return r.held.Remaining() }

// observe reports a moved deadline to the guard.
func (r *run) observe(e leasehold.Event) {
	switch e := e.(type) {
	case leasehold.Renewed, leasehold.Breaking:
		select {
		case r.changed <- struct{}{}:
		default:
		}
		if b, ok := e.(leasehold.Breaking); ok {
			r.say("%s is being broken; the command has to end within %s", quote(b.Resource), span(b.Remaining))
		}
	case leasehold.RenewalFailed:
		if e.WillRetry {
			r.say("%v; trying again", e.Err)
		}
	}
}

// finish releases the lease, now that nothing runs under it any more, and turns
// the command's outcome into the program's.
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
	return exitIf(outcome.Code != 0, outcome.Code)
}

// release releases the lease, and returns why it was lost if it was. A lost lease
// ends soon anyway, and most often the store does not answer: it waits for that
// only briefly.
func (r *run) release(lost bool) error {
	if !lost {
		return r.held.Release(context.Background())
	}
	r.closeWithin = lostCloseTimeout
	why := r.held.Err()
	if why == nil { // this process was stopped while the guardian's deadline passed
		why = errors.New("it was not renewed in time")
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		_ = r.held.Release(context.Background())
	}()
	select {
	case <-released:
	case <-time.After(r.closeWithin):
	}
	return why
}

// close waits for the manager and the store. What hangs ends with the program.
func (r *run) close() {
	ctx, cancel := context.WithTimeout(context.Background(), r.closeWithin)
	defer cancel()
	go func() {
		defer cancel()
		_ = r.manager.Close(ctx)
		_ = r.store.Close()
	}()
	<-ctx.Done()
}

// warn writes to standard error in any case, say only with --verbose.
func (r *run) warn(format string, args ...any) {
	fmt.Fprintf(r.err, "leasehold: "+format+"\n", args...)
}

func (r *run) say(format string, args ...any) {
	if r.verbose {
		r.warn(format, args...)
	}
}

// The guardian and the launcher are commands that only the program itself starts.
var (
	guardianArgs = []string{"leasehold", "__guardian"}
	launcherArgs = []string{"leasehold", "__launch"}
)

func init() { commands = append(commands, newGuardian, newLauncher) }

func newGuardian(*app) *cobra.Command {
	return role(guardianArgs[1], func(args []string) int { return guard.Guardian(args, launcherArgs) })
}

func newLauncher(*app) *cobra.Command { return role(launcherArgs[1], guard.Launcher) }

func role(name string, body func(args []string) int) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			code := body(args)
			return exitIf(code != 0, code)
		},
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

const waitHelp = `Wait until nobody holds a resource, without acquiring it: somebody else may be
faster afterwards. To wait in line for the lease itself, use acquire --wait.

With --lease-token it waits only until that lease has ended, whoever comes next.`

// waitFlags say what to wait for.
type waitFlags struct {
	token   uint64
	timeout time.Duration
}

func newWait(a *app) *cobra.Command {
	f := waitFlags{timeout: leasehold.NoTimeout}
	cmd := &cobra.Command{
		Use: "wait RESOURCE", GroupID: groupLook, Args: exactArgs(1), ValidArgsFunction: a.completeResource,
		Short: "Wait until a resource is free", Long: waitHelp,
		Example: "  leasehold wait deploy:prod\n  leasehold wait deploy:prod --timeout 10m || echo 'still held'",
	}
	cmd.Flags().VarP(durationFlag{&f.timeout, leasehold.NoTimeout}, "timeout", "t", "how long to wait at most, or forever")
	cmd.Flags().Uint64Var(&f.token, "lease-token", 0, "wait for the end of the lease with this fencing token only")
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		if err := leasehold.CheckResource(args[0]); err != nil {
			return err
		}
		status, err := a.waitUntilFree(ctx, s, args[0], f)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(wire.FromStatus(status))
		}
		a.note("%s", freeSentence(status))
		return nil
	})
	return cmd
}

func freeSentence(s leasehold.Status) string {
	if s.Locked() {
		return fmt.Sprintf("that lease has ended; %s is %s", quote(s.Resource), describeHolder(s))
	}
	return quote(s.Resource) + " is free"
}

// waitUntilFree polls when an event names the resource, when its lease is due, and
// once a second in case an event was lost.
func (a *app) waitUntilFree(ctx context.Context, s leasehold.Store, resource string, f waitFlags) (leasehold.Status, error) {
	start := time.Now()
	p := a.newProgress()
	defer p.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := watchResource(ctx, s, resource)
	for {
		status, err := pollStatus(ctx, s, resource)
		switch {
		case err == nil && f.isOver(status):
			return status, nil
		case err == nil:
			p.reached.Store(true)
			p.show(0, status)
		case !p.reached.Load() || !mayComeBack(err) || ctx.Err() != nil:
			return status, err
		default:
			p.print("the server is away; asking again")
		}
		pause, timedOut := f.pause(status, time.Since(start))
		if timedOut {
			return status, &leasehold.Error{Reason: leasehold.ReasonTimeout, Op: "wait", Resource: resource,
				Waited: time.Since(start), Waiting: len(status.Waiters)}
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-ctx.Done():
			return status, context.Cause(ctx)
		}
	}
}

func pollStatus(ctx context.Context, s leasehold.Store, resource string) (leasehold.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.Status(ctx, resource)
}

func (f waitFlags) isOver(s leasehold.Status) bool {
	if f.token != 0 {
		return !s.Check(f.token)
	}
	return !s.Locked()
}

// pause returns the time until the lease or the wait ends, at most pollEvery.
func (f waitFlags) pause(s leasehold.Status, waited time.Duration) (pause time.Duration, timedOut bool) {
	pause = pollEvery
	if s.Locked() && s.Lease.Remaining > 0 {
		pause = min(pause, s.Lease.Remaining+5*time.Millisecond)
	}
	if f.timeout == leasehold.NoTimeout {
		return pause, false
	}
	left := f.timeout - waited
	return min(pause, left), left <= 0
}

// watchResource returns a channel that receives when an event names the resource,
// if the store has events.
func watchResource(ctx context.Context, s leasehold.Store, resource string) <-chan struct{} {
	c := make(chan struct{}, 1)
	watcher, ok := s.(leasehold.Watcher)
	if !ok {
		return c
	}
	go func() {
		for ctx.Err() == nil {
			err := watcher.Watch(ctx, leasehold.WatchRequest{Prefix: resource}, func(leasehold.Notice) error {
				select {
				case c <- struct{}{}:
				default:
				}
				return nil
			})
			if errors.Is(err, leasehold.ErrForbidden) || errors.Is(err, leasehold.ErrUnsupported) {
				return
			}
			sleep.For(ctx, retryPause)
		}
	}()
	return c
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
)

// askAgain is the pause before a waiter asks a server again that went away.
const askAgain = time.Second

// acquireInLine waits in the store's queue and tells how it goes. A server that
// restarts meanwhile costs the place in the queue, not the wait; one that never
// answered is an error at once.
func (a *app) acquireInLine(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	waiter, err := power[leasehold.Waiter](s, "acquire")
	if err != nil {
		return leasehold.Grant{}, err
	}
	p := a.startProgress(ctx, s, r)
	defer p.stop()
	deadline := time.Now().Add(r.Timeout)
	for {
		g, err := waiter.Wait(ctx, r)
		if err == nil || !p.reached.Load() || !mayComeBack(err) {
			return g, err
		}
		if r.Timeout != leasehold.NoTimeout {
			if r.Timeout = time.Until(deadline) - askAgain; r.Timeout <= 0 {
				return g, err
			}
		}
		p.say("the server is away; asking again")
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return g, err
		}
	}
}

func mayComeBack(err error) bool {
	return errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, leasehold.ErrUnknown)
}

package leasehold

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// mostAttempts ends a wait that nothing else would.
	mostAttempts = 10_000
	// oneWait is how long one request may stand in a store's queue. The next
	// takes its place over, so nothing is lost; but an answer that was lost on
	// the way, with the grant in it, is noticed after that time. It is a little
	// shorter than the minute after which many proxies cut a silent request.
	oneWait = 50 * time.Second
	// grace is what a request gets beyond the wait for its answer to arrive.
	grace = 2 * time.Second
	// firstTrouble is the first pause after the store failed.
	firstTrouble = 100 * time.Millisecond
)

// campaign is one wait for a lease.
type campaign struct {
	*ask
	queue    Waiter        // nil where the store has none
	began    time.Duration // on the Manager's clock, like until
	until    time.Duration // never, if there is no timeout
	attempts int           // requests so far
	most     int           // requests at most; zero: no limit
	held     time.Duration // the next pause after a refusal
	trouble  time.Duration // the next pause after a failure
}

// wait asks until it gets the lease or has no reason to ask any longer.
func (a *ask) wait(ctx context.Context) (*Held, error) {
	c := a.campaign(ctx)
	for {
		asked := a.m.clock.now()
		h, err := c.attempt(ctx, asked)
		now := a.m.clock.now()
		switch {
		case err == nil:
			return h, nil
		case ctx.Err() != nil:
			return nil, a.cancelled(ctx, err, now-c.began)
		case c.hopeless(err):
			return nil, err
		case now >= c.until || c.attempts == c.most:
			return nil, c.timeout(err, now)
		}
		if !sleep(ctx, min(c.pause(err, now-asked), c.until-now)) {
			return nil, a.cancelled(ctx, err, a.m.clock.now()-c.began)
		}
	}
}

func (a *ask) campaign(ctx context.Context) *campaign {
	now := a.m.clock.now()
	c := &campaign{ask: a, began: now, until: never, held: a.m.o.AcquireRetryInterval, trouble: firstTrouble}
	c.queue, _ = a.m.store.(Waiter)
	if a.timeout > 0 {
		c.until = now + a.timeout
	}
	if _, ends := ctx.Deadline(); !ends && c.until == never {
		c.most = mostAttempts
	}
	return c
}

// attempt makes one request, in the store's queue if it can. The last one, when
// time is up, does not queue.
func (c *campaign) attempt(ctx context.Context, now time.Duration) (*Held, error) {
	c.attempts++
	left := c.until - now
	if c.queue == nil || left < time.Millisecond {
		return c.send(ctx, c.m.store.Acquire, min(callTimeout, max(left, 0))+grace)
	}
	c.req.Timeout = min(left, oneWait)
	return c.send(ctx, c.queue.Wait, c.req.Timeout+grace)
}

// hopeless reports whether asking again cannot help. It first does what can
// make it help: go without the queue, or propose another id.
func (c *campaign) hopeless(err error) bool {
	reason := ReasonOf(err)
	switch reason.Sentinel() {
	case ErrUnsupported:
		if c.queue != nil {
			c.queue = nil
			return false
		}
		return true
	case ErrInvalid, ErrForbidden:
		return true
	case ErrTimeout:
		return reason == ReasonSuperseded
	case ErrLost, ErrNotFound:
		return !c.anotherID()
	}
	switch reason {
	case ReasonIDInUse:
		return !c.anotherID()
	case ReasonDeadlock:
		return true
	}
	return false
}

// anotherID makes a new start after the id was used up. It cannot if the id is
// the caller's.
func (c *campaign) anotherID() bool {
	if !c.madeID {
		return false
	}
	c.giveBack()
	c.req.ID = NewID()
	return true
}

// pause returns how long to wait before asking again. A wait in the queue that
// lasted is followed by the next at once, because the place is kept.
func (c *campaign) pause(err error, lasted time.Duration) time.Duration {
	var e *Error
	errors.As(err, &e)
	switch e.Reason.Sentinel() {
	case ErrUnsupported:
		return 0 // the queue, which is done without from now on
	case ErrTimeout:
		if lasted >= c.req.Timeout/2 {
			return 0
		}
	case ErrHeld:
		pause := jitter(c.held)
		c.held = min(2*c.held, 4*c.m.o.AcquireRetryInterval)
		return earlier(pause, e)
	}
	pause := max(jitter(c.trouble), min(e.RetryAfter, c.m.o.AcquireRetryInterval*4))
	c.trouble = min(2*c.trouble, c.m.o.AcquireRetryInterval)
	return pause
}

// earlier cuts a pause short when the lease in the way ends before. The little
// on top spreads those who wait for the same moment.
func earlier(pause time.Duration, e *Error) time.Duration {
	ends := []time.Duration{e.RetryAfter, e.Remaining}
	if e.Current != nil {
		ends = append(ends, e.Current.Remaining)
	}
	for _, left := range ends {
		if left > 0 {
			pause = min(pause, left+5*time.Millisecond+rand.N(100*time.Millisecond))
		}
	}
	return pause
}

// timeout is the error of a wait that ended without a grant.
func (c *campaign) timeout(last error, now time.Duration) error {
	e := &Error{Reason: ReasonTimeout, Op: "acquire", Resource: c.req.Resource, Waited: now - c.began}
	if !errors.Is(last, ErrTimeout) {
		e.Cause = last
	}
	e.inTheWay(last)
	return e
}

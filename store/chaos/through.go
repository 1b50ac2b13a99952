package chaos

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
)

// passage is one call's way to the store and back.
type passage struct {
	Call
	fault Fault
	line  context.Context // as it was when the call set out
	end   <-chan struct{} // of all waiting, because the store is closed
}

// through takes a call to the store, if the store has the power P, and brings
// the answer back, with what the policy puts in its way.
func through[P, T any](ctx context.Context, s *Store, c Call, do func(context.Context, P) (T, error)) (T, error) {
	var none T
	p, err := setOut[P](s, c)
	if err != nil {
		return none, err
	}
	ctx, done := p.tie(ctx)
	defer done()
	if err := p.there(ctx); err != nil {
		return none, err
	}
	store, ok := s.current().(P) // it may be another one by now
	if !ok {
		return none, c.lacks()
	}
	answer, err := do(ctx, store)
	if lost := p.back(ctx); lost != nil {
		return none, lost
	}
	return answer, err
}

// setOut counts the call and asks the policy about it. A call for a power that
// the store lacks meets no fault: the caller must learn the truth about what it
// talks to.
func setOut[P any](s *Store, c Call) (*passage, error) {
	p, policy, err := depart[P](s, c)
	if policy != nil {
		p.fault = policy(p.Call) // without the lock: it may call the store
	}
	return p, err
}

func depart[P any](s *Store, c Call) (*passage, Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &passage{Call: c, line: context.Background()}, nil, nil
	}
	if s.down {
		return nil, nil, c.fails(leasehold.ReasonUnavailable, errDown)
	}
	if _, ok := s.inner.(P); !ok {
		return nil, nil, c.lacks()
	}
	s.counts[c.Op]++
	c.N = s.counts[c.Op]
	return &passage{Call: c, line: s.line, end: s.closes}, s.policy, nil
}

// tie makes the call's context end with the line, so that a call under way is
// cut off from both sides.
func (p *passage) tie(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.line, func() { cancel(context.Cause(p.line)) })
	return ctx, func() { stop(); cancel(nil) }
}

// there is the way to the store. An error means that it never got there.
func (p *passage) there(ctx context.Context) error {
	if err := p.pause(ctx, p.fault.Before); err != nil {
		return err
	}
	switch p.fault.Outcome {
	case HungUnheard:
		return p.hang(ctx)
	case Refused:
		if err := p.pause(ctx, p.fault.After); err != nil {
			return err
		}
		return p.fails(leasehold.ReasonUnavailable, nil)
	}
	return nil
}

// back is the way back. An error means that the answer was lost.
func (p *passage) back(ctx context.Context) error {
	if err := p.pause(ctx, p.fault.After); err != nil {
		return err
	}
	switch {
	case p.fault.Outcome == HungAnswered:
		return p.hang(ctx)
	case p.fault.Outcome == Lost:
		return p.fails(leasehold.ReasonUnknown, nil)
	case p.line.Err() != nil:
		return p.fails(leasehold.ReasonUnknown, errDown)
	}
	return nil
}

// pause waits. No pause at all is never interrupted: the store itself judges
// a context that has ended.
func (p *passage) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return p.await(ctx, timer.C)
}

func (p *passage) hang(ctx context.Context) error { return p.await(ctx, nil) }

func (p *passage) await(ctx context.Context, over <-chan time.Time) error {
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return p.fails(leasehold.ReasonUnknown, context.Cause(ctx))
	case <-p.end:
		return p.fails(leasehold.ReasonUnknown, errClosed)
	}
}

func (c Call) fails(reason leasehold.Reason, cause error) error {
	return &leasehold.Error{Reason: reason, Op: string(c.Op), Resource: c.Resource, Store: "chaos", Cause: cause}
}

func (c Call) lacks() error { return c.fails(leasehold.ReasonUnsupported, nil) }

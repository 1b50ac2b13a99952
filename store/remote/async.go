package remote

import "context"

// asyncCall is a call that goes on when its caller leaves.
type asyncCall struct {
	*call
	done     chan result // unbuffered: a caller that has left receives nothing
	detached chan struct{}
	cancel   context.CancelFunc
}

// result is what became of a call.
type result struct {
	reply
	err error

	// alone: the call was not sent, and its caller sends it alone. Only batches
	// say so.
	alone bool
	// counted, with alone: the batcher counts it among its requests.
	counted bool
}

// start sends a call in the background, and calls ended when that is over. The
// starter either receives from done or detaches the call. The context only lends
// its values.
func (s *Store) start(ctx context.Context, c *call, ended func()) (*asyncCall, error) {
	if ctx.Err() != nil {
		return nil, &notSent{context.Cause(ctx)}
	}
	a := &asyncCall{call: c, done: make(chan result), detached: make(chan struct{})}
	ctx, a.cancel = with(context.WithoutCancel(ctx), s.life)
	started := s.background(func() {
		defer a.cancel()
		r, err := s.transport.exchange(ctx, c)
		select {
		case a.done <- result{reply: r, err: err}:
			ended() // last: the caller's next call can join the batch that this starts
		case <-a.detached:
			ended()
			if c.unclaimed != nil && err == nil {
				c.unclaimed(r)
			}
		}
	})
	if !started {
		a.cancel()
		return nil, &notSent{errClosed}
	}
	return a, nil
}

// detach lets the call go on without its caller.
func (a *asyncCall) detach() { close(a.detached) }

// sendAlone sends a call that changes something as a request of its own, and
// calls ended when that is over. The caller's context does not end the request:
// nobody would know whether it has happened.
func (s *Store) sendAlone(ctx context.Context, c *call, ended func()) (reply, error) {
	a, err := s.start(ctx, c, ended)
	if err != nil {
		ended()
		return reply{}, err
	}
	select {
	case r := <-a.done:
		return r.reply, r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if a.withdraw() {
		a.cancel()
		err = &notSent{err}
	}
	a.detach()
	return reply{}, err
}

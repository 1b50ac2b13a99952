package remote

import (
	"context"
	"sync"
	"time"
)

// closeFor is how long Close waits for the answers of requests that change
// something: what is granted to nobody has to be given back.
const closeFor = time.Second

// work is what goes on when its caller has left. Close waits for it.
type work struct {
	open    context.Context // ends when Close begins: reads and waits end
	life    context.Context // ends when the rest is cut off
	shut    context.CancelFunc
	cut     context.CancelFunc
	mu      sync.Mutex // closing against start
	running sync.WaitGroup
}

func newWork() *work {
	w := new(work)
	w.open, w.shut = context.WithCancel(context.Background())
	w.life, w.cut = context.WithCancel(context.Background())
	return w
}

func (w *work) closed() bool { return w.open.Err() != nil }

// background runs f unless the store is closed, and reports whether it does.
func (w *work) background(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed() {
		return false
	}
	w.running.Go(f)
	return true
}

func (w *work) close() {
	w.mu.Lock()
	w.shut()
	w.mu.Unlock()
	late := time.AfterFunc(closeFor, w.cut)
	defer late.Stop()
	w.running.Wait()
	w.cut()
}

// with returns a context that ends with another one, too.
func with(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(errClosed) })
	if other.Err() != nil {
		cancel(errClosed) // now, not soon
	}
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// pending is a request that goes on when its caller leaves.
type pending struct {
	*request
	done     chan result // without a buffer: a caller that has left receives nothing
	detached chan struct{}
	late     func(reply) // is given the answer then; may be nil
	cancel   context.CancelFunc
}

// start sends a request in the background. Whoever starts it either receives
// from done or detaches it. The context only lends its values.
func (s *Store) start(ctx context.Context, q *request, after func()) (*pending, error) {
	if ctx.Err() != nil {
		return nil, &notSent{context.Cause(ctx)}
	}
	p := &pending{request: q, done: make(chan result), detached: make(chan struct{})}
	ctx, p.cancel = with(context.WithoutCancel(ctx), s.life)
	started := s.background(func() {
		defer p.cancel()
		r, err := s.transport.exchange(ctx, q)
		select {
		case p.done <- result{r, err}:
			after()
		case <-p.detached:
			after()
			if p.late != nil && err == nil {
				p.late(r)
			}
		}
	})
	if !started {
		p.cancel()
		return nil, &notSent{errClosed}
	}
	return p, nil
}

// detach lets the request go on without its caller.
func (p *pending) detach(late func(reply)) {
	p.late = late
	close(p.detached)
}

// change makes a request that changes something. It is not ended by its
// caller's context: nobody would know whether it has happened. An answer that
// comes too late for the caller is given to late.
func (s *Store) change(ctx context.Context, q *request, late func(reply), after func()) (reply, error) {
	p, err := s.start(ctx, q, after)
	if err != nil {
		after()
		return reply{}, err
	}
	select {
	case r := <-p.done:
		return r.reply, r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if p.withdraw() {
		p.cancel()
		err = &notSent{err}
	}
	p.detach(late)
	return reply{}, err
}

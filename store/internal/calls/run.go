package calls

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
)

// Grace is how long a write under way is waited for after its caller's context has
// ended. Mostly it ends by then, and the caller learns how.
const Grace = 500 * time.Millisecond

// A Write is a call that may change something.
type Write[T any] struct {
	Op, Resource string // for errors

	// Run makes the change. Its context does not end with the caller's.
	Run func(ctx context.Context) (T, error)

	// After runs when Run has ended, and is told whether the caller receives its
	// result: it may have left before. May be nil. A caller whose context cannot end
	// waits for it, others do not; Close does always.
	After func(ctx context.Context, result T, err error, received bool)
}

// Run runs a write in the background and waits for it, or until a moment after the
// caller has left: a write under way is not cut off, so that its outcome is known
// to somebody.
func Run[T any](ctx context.Context, c *Calls, w Write[T]) (result T, err error) {
	if ctx.Err() != nil {
		return result, c.failures.New(w.Op, w.Resource, leasehold.ReasonUnavailable, context.Cause(ctx))
	}
	if err := c.Start(w.Op, w.Resource); err != nil {
		return result, err
	}
	if ctx.Done() == nil {
		defer c.Done()
		result, err = w.Run(ctx)
		w.after(ctx, result, err, true)
		return result, err
	}
	return runApart(ctx, c, w)
}

// runApart runs a write whose caller may leave.
func runApart[T any](ctx context.Context, c *Calls, w Write[T]) (result T, err error) {
	var over atomic.Bool // answered, or the caller has left: whichever is first
	done := make(chan struct{})
	go func() {
		defer c.Done()
		ctx := context.WithoutCancel(ctx)
		r, failure := w.Run(ctx)
		received := over.CompareAndSwap(false, true)
		if received {
			result, err = r, failure
			close(done)
		}
		w.after(ctx, r, failure, received)
	}()
	if waitFor(ctx, done) || !over.CompareAndSwap(false, true) {
		<-done
		return result, err
	}
	var none T
	return none, c.failures.New(w.Op, w.Resource, leasehold.ReasonUnknown, context.Cause(ctx))
}

// waitFor waits for done until Grace after the end of ctx.
func waitFor(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (w *Write[T]) after(ctx context.Context, result T, err error, received bool) {
	if w.After != nil {
		w.After(ctx, result, err, received)
	}
}

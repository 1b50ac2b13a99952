package leasehold

import (
	"context"
	"errors"
	"time"
)

const (
	// releaseTimeout is the deadline of a release, whatever the caller's is.
	releaseTimeout = 5 * time.Second
	// firstReleasePause is the first pause between two attempts.
	firstReleasePause = 50 * time.Millisecond
)

// Release releases the lease and ends its context. It ignores the end of ctx: a
// caller that was cancelled most needs to release. Instead it has a deadline of
// its own, 5 s.
//
// Nil means that the lease was held until now and is free. An error that matches
// ErrLost means that it was lost before, and the work under it may have
// overlapped with another's. Any other error means that the store could not be
// reached; the lease then ends by itself. Further calls wait for the first and
// return what it returned.
func (h *Held) Release(ctx context.Context) error {
	return h.release(context.WithoutCancel(ctx), "")
}

// ReleaseWithNote is Release with a note for the next holder, who finds it in
// Held.Notes. A note outside the limits is ErrInvalid, and the lease stays held. A
// store that keeps no notes releases the lease all the same; the error then matches
// ErrUnsupported.
//
// A function of Do or Lead calls it as its last step. A lease that was lost, or
// released before, leaves no note.
func (h *Held) ReleaseWithNote(ctx context.Context, note string) error {
	if err := checkNote(note); err != nil {
		e := asError("release", h.resource, err)
		e.Op, e.Resource = "release", h.resource
		return e
	}
	return h.release(context.WithoutCancel(ctx), note)
}

// release is Release, except that the context can end it.
func (h *Held) release(ctx context.Context, note string) error {
	h.r.mu.Lock()
	if h.done != nil {
		h.r.mu.Unlock()
		<-h.done
		return h.result
	}
	h.done = make(chan struct{})
	h.r.loseIfPastLine(h, h.r.clock.now())
	lost := h.end
	if lost == nil {
		h.r.remove(h, &Error{Reason: ReasonReleased, Op: "hold", Resource: h.resource})
	}
	h.r.mu.Unlock()
	defer close(h.done)
	h.result = h.sendRelease(ctx, lost, note)
	return h.result
}

// sendRelease sends the release and notifies the observer. A lease that was lost
// at its safety line may live on in the store: it is released as well, unless
// the store itself has said that it is gone.
func (h *Held) sendRelease(ctx context.Context, lost *Error, note string) error {
	if h.gone {
		return lost
	}
	ctx, ended := h.r.options.startOperation(ctx, h.operation(OperationRelease))
	r := ReleaseRequest{ID: h.id, Resource: h.resource, Holder: h.holder, Token: h.token, Note: note}
	err := releaseWithRetry(ctx, h.r.store, r)
	var noNote error
	if note != "" && errors.Is(err, ErrUnsupported) {
		noNote = err
		r.Note = ""
		err = releaseWithRetry(ctx, h.r.store, r)
	}
	ended(h.token, err)
	if lost != nil {
		return lost
	}
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if err != nil && classify(err) == gone {
		h.end = lossError(h.resource, err)
		h.r.lose(h, h.end, h.r.clock.now())
		return h.end
	}
	h.r.observer.notify(Released{EventInfo: h.info(), Err: err})
	return firstError(err, noNote)
}

// releaseWithRetry releases a lease, and tries again until its deadline where
// the store fails or the answer is lost. After a lost answer, "released" means
// success.
func releaseWithRetry(ctx context.Context, store Store, r ReleaseRequest) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	limit, pause, answerLost := releaseTimeout/2, firstReleasePause, false
	for {
		if ctx.Err() != nil { // Close has no time left for this one
			return &Error{Reason: ReasonUnavailable, Op: "release", Resource: r.Resource, Cause: context.Cause(ctx)}
		}
		_, err := callWithin(ctx, limit, func(ctx context.Context) (Lease, error) { return store.Release(ctx, r) })
		switch {
		case err == nil, answerLost && ReasonOf(err) == ReasonReleased:
			return nil
		case classify(err) != transient, r.Note != "" && errors.Is(err, ErrUnsupported):
			return err
		}
		e := asError("release", r.Resource, err)
		answerLost = answerLost || errors.Is(e, ErrUnknown)
		if !sleep(ctx, jitter(pause)) {
			return e
		}
		limit, pause = limit/2+firstReleasePause, 2*pause
	}
}

// releaseUnclaimed releases a grant that nobody received. If its answer was
// lost, the request may still be on its way: "not found" is then tried again
// until the deadline, and once more when the Manager starts to close, which ends
// open. Origin has the values of the operation that requested the grant.
func releaseUnclaimed(open, origin context.Context, store Store, r ReleaseRequest, answerLost bool) {
	if _, finds := store.(Finder); r.Resource == "" && !finds {
		return // it expires
	}
	ctx, cancel := context.WithTimeout(origin, releaseTimeout)
	defer cancel()
	pause := firstReleasePause
	for {
		err := releaseWithRetry(ctx, store, r)
		if !answerLost || !errors.Is(err, ErrNotFound) || open.Err() != nil {
			return
		}
		sleep(open, jitter(pause))
		pause *= 2
	}
}

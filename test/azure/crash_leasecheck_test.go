//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// How a hand finds out what cannot be seen of a lease: by which id it is held.

// tryHold checks that the lease is held by its id and by no other, and that it
// keeps others out. Nothing is changed before the id has proved to be the right
// one: until then another may still be.
func tryHold[T any](ctx context.Context, h *hand[T], name string, r entry[T]) (entry[T], error) {
	if r.hold.former != "" {
		if err := refused(h.lease(name, r.hold.former).renew(ctx), h.toStranger(r.hold)); err != nil {
			return r, fmt.Errorf("renew by a former id: %w", err)
		}
	}
	switch r.hold.state {
	case leased:
		return tryLeased(ctx, h, name, r)
	case breaking:
		return tryBreaking(ctx, h, name, r)
	}
	return r, tryEnded(ctx, h, name, r)
}

// toStranger is how an id is refused that is not the one of the lease.
func (h *hand[T]) toStranger(l hold) bloberror.Code {
	if l.locked() {
		return h.face.words.stranger
	}
	return h.face.words.ended
}

// tryLeased keeps most leases, so that some outlive several servers.
func tryLeased[T any](ctx context.Context, h *hand[T], name string, r entry[T]) (entry[T], error) {
	if err := h.lease(name, r.hold.id).renew(ctx); err != nil {
		return r, fmt.Errorf("renew of an acknowledged lease: %w", err)
	}
	r, err := tryLocked(ctx, h, name, r)
	if err != nil || rand.IntN(4) > 0 {
		return r, err
	}
	return tryRelease(ctx, h, name, r)
}

// tryBreaking releases it in the end, so that no time passes that would break
// it.
func tryBreaking[T any](ctx context.Context, h *hand[T], name string, r entry[T]) (entry[T], error) {
	// At both faces: the lease is still there.
	if err := refused(h.lease(name, r.hold.id).renew(ctx), bloberror.LeaseIsBrokenAndCannotBeRenewed); err != nil {
		return r, fmt.Errorf("renew of what is being broken: %w", err)
	}
	r, err := tryLocked(ctx, h, name, r)
	if err != nil {
		return r, err
	}
	return tryRelease(ctx, h, name, r)
}

// tryLocked: the holder may write, and nobody else may write or have the lease.
func tryLocked[T any](ctx context.Context, h *hand[T], name string, r entry[T]) (entry[T], error) {
	if err := refused(h.lease(name, newID()).acquire(ctx, 60), bloberror.LeaseAlreadyPresent); err != nil {
		return r, fmt.Errorf("acquire of what is %v: %w", r.hold, err)
	}
	if err := h.refuseSeizing(ctx, name, r); err != nil {
		return r, err
	}
	next, write := h.write(h, name, r)
	if err := write(ctx, &next); err != nil {
		return r, fmt.Errorf("write with the id of what is %v: %w", r.hold, err)
	}
	return next, nil
}

func tryRelease[T any](ctx context.Context, h *hand[T], name string, r entry[T]) (entry[T], error) {
	if err := h.lease(name, r.hold.id).release(ctx); err != nil {
		return r, fmt.Errorf("release of what is %v: %w", r.hold, err)
	}
	r = r.under(r.hold.letGo())
	return r, tryEnded(ctx, h, name, r)
}

// tryEnded: the id of a lease that is available, or was broken, is worth nothing
// any more.
func tryEnded[T any](ctx context.Context, h *hand[T], name string, r entry[T]) error {
	last := r.hold.former
	if r.hold.state == broken {
		last = r.hold.id
		if err := refused(h.lease(name, last).renew(ctx), h.face.words.broken); err != nil {
			return fmt.Errorf("renew of what was broken: %w", err)
		}
	} else if err := refused(h.lease(name, newID()).end(ctx, 0), h.face.words.nothing); err != nil {
		return fmt.Errorf("break of what nobody holds: %w", err)
	}
	if last == "" {
		return nil
	}
	if err := refused(h.seize(ctx, h, name, r, last), h.guardWords().ended); err != nil {
		return fmt.Errorf("write with the id of a lease that is %v: %w", r.hold, err)
	}
	return nil
}

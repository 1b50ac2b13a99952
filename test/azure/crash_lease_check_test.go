//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// checkLease finds out what cannot be read of a lease: that its id holds it, and
// that no other does. It changes nothing before the id has proved to be right:
// until then the lease of another candidate may be the right one.
func checkLease[T any](ctx context.Context, d *driver[T], name string, s state[T]) (state[T], error) {
	if s.lease.former != "" {
		if err := wantRefused(d.lease(name, s.lease.former).renew(ctx), d.otherIDCode(s.lease)); err != nil {
			return s, fmt.Errorf("renew by a former id: %w", err)
		}
	}
	switch s.lease.state {
	case leased:
		return checkLeased(ctx, d, name, s)
	case breaking:
		return checkBreaking(ctx, d, name, s)
	}
	return s, checkEnded(ctx, d, name, s)
}

// otherIDCode is the code for a renewal by an id that is not the lease's.
func (d *driver[T]) otherIDCode(l leaseState) bloberror.Code {
	if l.locked() {
		return d.endpoint.codes.otherID
	}
	return d.endpoint.codes.ended
}

// checkLeased keeps most leases, so that some outlive several servers.
func checkLeased[T any](ctx context.Context, d *driver[T], name string, s state[T]) (state[T], error) {
	if err := d.lease(name, s.lease.id).renew(ctx); err != nil {
		return s, fmt.Errorf("renew of an acknowledged lease: %w", err)
	}
	s, err := checkExclusive(ctx, d, name, s)
	if err != nil || rand.IntN(4) > 0 {
		return s, err
	}
	return checkRelease(ctx, d, name, s)
}

// checkBreaking releases the lease before its break period ends.
func checkBreaking[T any](ctx context.Context, d *driver[T], name string, s state[T]) (state[T], error) {
	// At both endpoints: the lease still exists.
	if err := wantRefused(d.lease(name, s.lease.id).renew(ctx), bloberror.LeaseIsBrokenAndCannotBeRenewed); err != nil {
		return s, fmt.Errorf("renew of a breaking lease: %w", err)
	}
	s, err := checkExclusive(ctx, d, name, s)
	if err != nil {
		return s, err
	}
	return checkRelease(ctx, d, name, s)
}

// checkExclusive: the holder may write, and nobody else may write or acquire.
func checkExclusive[T any](ctx context.Context, d *driver[T], name string, s state[T]) (state[T], error) {
	if err := wantRefused(d.lease(name, newID()).acquire(ctx, 60), bloberror.LeaseAlreadyPresent); err != nil {
		return s, fmt.Errorf("acquire of what is %v: %w", s.lease, err)
	}
	if err := d.checkOthersRefused(ctx, name, s); err != nil {
		return s, err
	}
	next, write := d.planWrite(d, name, s)
	if err := write(ctx, &next); err != nil {
		return s, fmt.Errorf("write with the id of what is %v: %w", s.lease, err)
	}
	return next, nil
}

func checkRelease[T any](ctx context.Context, d *driver[T], name string, s state[T]) (state[T], error) {
	if err := d.lease(name, s.lease.id).release(ctx); err != nil {
		return s, fmt.Errorf("release of what is %v: %w", s.lease, err)
	}
	s = s.withLease(s.lease.ended())
	return s, checkEnded(ctx, d, name, s)
}

// checkEnded: the id of a lease that was released or broken is worth nothing.
func checkEnded[T any](ctx context.Context, d *driver[T], name string, s state[T]) error {
	last := s.lease.former
	if s.lease.state == broken {
		last = s.lease.id
		if err := wantRefused(d.lease(name, last).renew(ctx), d.endpoint.codes.broken); err != nil {
			return fmt.Errorf("renew of a broken lease: %w", err)
		}
	} else if err := wantRefused(d.lease(name, newID()).breakIn(ctx, 0), d.endpoint.codes.nothing); err != nil {
		return fmt.Errorf("break where there is no lease: %w", err)
	}
	if last == "" {
		return nil
	}
	if err := wantRefused(d.writeAsHolder(ctx, d, name, s, last), d.accessCodes().ended); err != nil {
		return fmt.Errorf("write with the id of a lease that is %v: %w", s.lease, err)
	}
	return nil
}

//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// leaseRules are what a driver needs to acquire leases of its targets and to
// check them.
type leaseRules[T any] struct {
	newLease func(d *driver[T], name, id string) leaseClient
	codes    func(codes) accessCodes
	// writeAsHolder sends a request that a lease refuses without its id.
	writeAsHolder func(ctx context.Context, d *driver[T], name string, s state[T], id string) error
	// planWrite plans a write that the holder can always do.
	planWrite func(d *driver[T], name string, s state[T]) (state[T], call[T])
}

// leaseOperations are the same for every kind of target.
func leaseOperations[T any]() []operation[T] {
	return []operation[T]{
		{"acquire", planAcquire[T]}, {"acquire", planAcquire[T]}, {"renew", planRenew[T]}, {"change", planChange[T]},
		{"release", planRelease[T]}, {"break", planBreak[T]},
	}
}

// withLease is the state with another lease.
func (s state[T]) withLease(l leaseState) state[T] {
	s.lease = l
	return s
}

func (d *driver[T]) lease(name, id string) leaseClient { return d.newLease(d, name, id) }

func (d *driver[T]) accessCodes() accessCodes { return d.codes(d.endpoint.codes) }

// leaseOfBlob is for blobs of all kinds.
func leaseOfBlob[T any](d *driver[T], name, id string) leaseClient {
	return newBlobLease(d.blob(name), id)
}

func blobCodes(c codes) accessCodes { return c.blob }

func planAcquire[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if !s.exists || s.lease.locked() {
		return s, nil
	}
	next, seconds := s.lease.ended(), int32(60)
	next.state, next.duration, next.id = leased, fixed, newID()
	if rand.IntN(2) == 0 {
		seconds, next.duration = -1, infinite
	}
	return s.withLease(next), func(ctx context.Context, _ *state[T]) error {
		return d.lease(name, next.id).acquire(ctx, seconds)
	}
}

func planRenew[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if s.lease.state != leased {
		return s, nil
	}
	return s, func(ctx context.Context, _ *state[T]) error { return d.lease(name, s.lease.id).renew(ctx) }
}

func planChange[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if s.lease.state != leased {
		return s, nil
	}
	next := s.lease
	next.id, next.former = newID(), s.lease.id
	return s.withLease(next), func(ctx context.Context, _ *state[T]) error {
		return d.lease(name, s.lease.id).change(ctx, next.id)
	}
}

func planRelease[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if !s.lease.locked() {
		return s, nil
	}
	return s.withLease(s.lease.ended()), func(ctx context.Context, _ *state[T]) error {
		return d.lease(name, s.lease.id).release(ctx)
	}
}

func planBreak[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if s.lease.state != leased {
		return s, nil
	}
	next, period := s.lease, int32(0)
	next.state, next.duration = broken, ""
	if rand.IntN(2) == 0 {
		next.state, period = breaking, 60
	}
	return s.withLease(next), func(ctx context.Context, _ *state[T]) error {
		return d.lease(name, newID()).breakIn(ctx, period)
	}
}

// planRefusedWrite writes without the id, and with another.
func planRefusedWrite[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if !s.lease.locked() {
		return s, nil
	}
	return s, func(ctx context.Context, _ *state[T]) error { return d.checkOthersRefused(ctx, name, s) }
}

func (d *driver[T]) checkOthersRefused(ctx context.Context, name string, s state[T]) error {
	return wantOthersRefused(func(id string) error { return d.writeAsHolder(ctx, d, name, s, id) }, d.accessCodes())
}

// wantOthersRefused checks that a lease refuses a write without its id, and with
// another one.
func wantOthersRefused(write func(id string) error, c accessCodes) error {
	if err := wantRefused(write(""), bloberror.LeaseIDMissing); err != nil {
		return fmt.Errorf("write without the id: %w", err)
	}
	if err := wantRefused(write(newID()), c.otherID); err != nil {
		return fmt.Errorf("write with another id: %w", err)
	}
	return nil
}

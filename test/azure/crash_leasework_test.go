//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// leasing is what a hand needs to take leases of what it has.
type leasing[T any] struct {
	tenure func(h *hand[T], name, id string) tenure
	words  func(words) guardWords
	// seize does what nobody may do who does not show the id of the lease.
	seize func(ctx context.Context, h *hand[T], name string, r entry[T], id string) error
	// write plans something that can always be done by whoever has the lease.
	write func(h *hand[T], name string, r entry[T]) (entry[T], move[T])
}

// leaseFeats are what is done to leases, of whatever they are.
func leaseFeats[T any]() []feat[T] {
	return []feat[T]{
		{"acquire", planLeaseAcquire[T]}, {"acquire", planLeaseAcquire[T]}, {"renew", planLeaseRenew[T]}, {"change", planLeaseChange[T]},
		{"release", planLeaseRelease[T]}, {"break", planLeaseBreak[T]},
	}
}

// under is the entry with another lease.
func (r entry[T]) under(l hold) entry[T] {
	r.hold = l
	return r
}

// written is the entry of a blob after a write: a lease that was broken is
// forgotten.
func (r entry[T]) written(is T) entry[T] {
	if r.hold.state == broken {
		r.hold = r.hold.letGo()
	}
	return r.with(is)
}

func (h *hand[T]) lease(name, id string) tenure { return h.leasing.tenure(h, name, id) }

// leaseOfBlob is for blobs of all kinds.
func leaseOfBlob[T any](h *hand[T], name, id string) tenure {
	return blobTenure{blobLease(h.blob(name), id)}
}

func blobWords(w words) guardWords { return w.atBlob }

// mark writes to a blob of any kind, beside its content.
func (h *hand[T]) mark(ctx context.Context, name, id string) error {
	_, err := h.blob(name).SetMetadata(ctx, metadata(newVersion()), &sdk.SetMetadataOptions{AccessConditions: showAny(id)})
	return err
}

func planLeaseAcquire[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if !r.there || r.hold.locked() {
		return r, nil
	}
	next, seconds := r.hold.letGo(), int32(60)
	next.state, next.duration, next.id = leased, fixed, newID()
	if rand.IntN(2) == 0 {
		seconds, next.duration = -1, infinite
	}
	return r.under(next), func(ctx context.Context, _ *entry[T]) error {
		return h.lease(name, next.id).acquire(ctx, seconds)
	}
}

func planLeaseRenew[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if r.hold.state != leased {
		return r, nil
	}
	return r, func(ctx context.Context, _ *entry[T]) error { return h.lease(name, r.hold.id).renew(ctx) }
}

func planLeaseChange[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if r.hold.state != leased {
		return r, nil
	}
	next := r.hold
	next.id, next.former = newID(), r.hold.id
	return r.under(next), func(ctx context.Context, _ *entry[T]) error {
		return h.lease(name, r.hold.id).change(ctx, next.id)
	}
}

func planLeaseRelease[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if !r.hold.locked() {
		return r, nil
	}
	return r.under(r.hold.letGo()), func(ctx context.Context, _ *entry[T]) error {
		return h.lease(name, r.hold.id).release(ctx)
	}
}

func planLeaseBreak[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if r.hold.state != leased {
		return r, nil
	}
	next, period := r.hold, int32(0)
	next.state, next.duration = broken, ""
	if rand.IntN(2) == 0 {
		next.state, period = breaking, 60
	}
	return r.under(next), func(ctx context.Context, _ *entry[T]) error {
		return h.lease(name, newID()).end(ctx, period)
	}
}

// planSeize tries to do what only the holder may.
func planSeize[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if !r.hold.locked() {
		return r, nil
	}
	return r, func(ctx context.Context, _ *entry[T]) error { return h.refuseSeizing(ctx, name, r) }
}

func (h *hand[T]) refuseSeizing(ctx context.Context, name string, r entry[T]) error {
	return refuseOthers(func(id string) error { return h.seize(ctx, h, name, r, id) }, h.guardWords())
}

// refuseOthers checks that nobody gets past a lease without the id, nor with
// another one.
func refuseOthers(seize func(id string) error, w guardWords) error {
	if err := refused(seize(""), bloberror.LeaseIDMissing); err != nil {
		return fmt.Errorf("write without the id: %w", err)
	}
	if err := refused(seize(newID()), w.stranger); err != nil {
		return fmt.Errorf("write with another id: %w", err)
	}
	return nil
}

func (h *hand[T]) guardWords() guardWords { return h.leasing.words(h.face.words) }

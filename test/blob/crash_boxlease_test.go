//go:build unix

package blobtest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// The durations of a lease, in Azure's words.
const (
	infinite = "infinite"
	fixed    = "fixed"
)

// letGo is the container when nobody has its lease any more.
func (b box) letGo() box {
	if b.id != "" {
		b.former = b.id
	}
	b.state, b.duration, b.id = available, "", ""
	return b
}

func planBoxAcquire(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if !r.there || r.is.locked() {
		return r, nil
	}
	next, seconds := r.is.letGo(), int32(60)
	next.state, next.duration, next.id = leased, fixed, newID()
	if rand.IntN(2) == 0 {
		seconds, next.duration = -1, infinite
	}
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := boxLease(h.box(name), next.id).AcquireLease(ctx, seconds, nil)
		return err
	}
}

func planBoxRenew(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if r.is.state != leased {
		return r, nil
	}
	return r, func(ctx context.Context, _ *entry[box]) error {
		_, err := boxLease(h.box(name), r.is.id).RenewLease(ctx, nil)
		return err
	}
}

func planBoxChange(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if r.is.state != leased {
		return r, nil
	}
	next := r.is
	next.id, next.former = newID(), r.is.id
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := boxLease(h.box(name), r.is.id).ChangeLease(ctx, next.id, nil)
		return err
	}
}

func planBoxRelease(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if !r.is.locked() {
		return r, nil
	}
	return r.with(r.is.letGo()), func(ctx context.Context, _ *entry[box]) error {
		_, err := boxLease(h.box(name), r.is.id).ReleaseLease(ctx, nil)
		return err
	}
}

func planBoxBreak(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if r.is.state != leased {
		return r, nil
	}
	next, period := r.is, int32(0)
	next.state, next.duration = broken, ""
	if rand.IntN(2) == 0 {
		next.state, period = breaking, 60
	}
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := boxLease(h.box(name), r.is.id).BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: &period})
		return err
	}
}

// refuseDelete checks that nobody deletes the container without the id, nor with
// another one.
func refuseDelete(ctx context.Context, client *container.Client) error {
	_, err := client.Delete(ctx, nil)
	if err := refused(err, bloberror.LeaseIDMissing); err != nil {
		return fmt.Errorf("delete without the id: %w", err)
	}
	_, err = client.Delete(ctx, (box{state: leased, id: newID()}).deleteOptions())
	if err := refused(err, bloberror.LeaseIDMismatchWithContainerOperation); err != nil {
		return fmt.Errorf("delete with another id: %w", err)
	}
	return nil
}

// tryBox checks that the lease is held by its id and by no other, and that the
// container cannot be deleted without it. One that is being broken it releases,
// so that no time passes that would break it.
func tryBox(ctx context.Context, h *hand[box], name string, r entry[box]) (entry[box], error) {
	if !r.there {
		return r, nil
	}
	client := h.box(name)
	if r.is.former != "" {
		_, err := boxLease(client, r.is.former).RenewLease(ctx, nil)
		if err := refused(err, bloberror.LeaseIDMismatchWithLeaseOperation); err != nil {
			return r, fmt.Errorf("renew by a former id: %w", err)
		}
	}
	switch r.is.state {
	case leased:
		return r, tryLeased(ctx, client, r.is)
	case breaking:
		return tryBreaking(ctx, client, r)
	case broken:
		_, err := boxLease(client, r.is.id).RenewLease(ctx, nil)
		return r, refused(err, bloberror.LeaseIsBrokenAndCannotBeRenewed)
	}
	_, err := boxLease(client, newID()).BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: to.Ptr[int32](0)})
	return r, refused(err, bloberror.LeaseNotPresentWithLeaseOperation)
}

func tryLeased(ctx context.Context, client *container.Client, b box) error {
	if _, err := boxLease(client, b.id).RenewLease(ctx, nil); err != nil {
		return fmt.Errorf("renew of an acknowledged lease: %w", err)
	}
	_, err := boxLease(client, newID()).AcquireLease(ctx, 60, nil)
	if err := refused(err, bloberror.LeaseAlreadyPresent); err != nil {
		return fmt.Errorf("acquire of what is leased: %w", err)
	}
	return refuseDelete(ctx, client)
}

func tryBreaking(ctx context.Context, client *container.Client, r entry[box]) (entry[box], error) {
	_, err := boxLease(client, newID()).AcquireLease(ctx, 60, nil)
	if err := refused(err, bloberror.LeaseAlreadyPresent); err != nil {
		return r, fmt.Errorf("acquire of what is being broken: %w", err)
	}
	if err := refuseDelete(ctx, client); err != nil {
		return r, err
	}
	if _, err := boxLease(client, r.is.id).ReleaseLease(ctx, nil); err != nil {
		return r, fmt.Errorf("release of what is being broken: %w", err)
	}
	return r.with(r.is.letGo()), nil
}

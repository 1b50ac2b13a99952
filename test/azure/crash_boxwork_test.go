//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// What is done to containers.

// planBox makes a container, which is empty whatever there was of that name.
func planBox(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if r.there {
		return r, nil
	}
	next := box{version: newVersion(), access: accessText(nil, nil)}
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := h.box(name).Create(ctx, &container.CreateOptions{Metadata: metadata(next.version)})
		return err
	}
}

// planInside puts something in that must go with the container.
func planInside(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if !r.there || len(r.is.inside) == 3 {
		return r, nil
	}
	next, blob := r.is, fmt.Sprint("b", len(r.is.inside))
	next.inside = append(slices.Clip(next.inside), blob)
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := h.box(name).NewBlockBlobClient(blob).Upload(ctx, body(newPiece()), nil)
		return err
	}
}

// planBoxDelete deletes it; whose lease it was is remembered.
func planBoxDelete(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if !r.there {
		return r, nil
	}
	return entry[box]{hold: r.hold.letGo()}, func(ctx context.Context, _ *entry[box]) error {
		return seizeBox(ctx, h, name, r, r.hold.shown())
	}
}

// seizeBox deletes it: of all that is done to a container, only that needs the
// id.
func seizeBox(ctx context.Context, h *hand[box], name string, _ entry[box], id string) error {
	return deleteBox(ctx, h.box(name), id)
}

func deleteBox(ctx context.Context, client *container.Client, id string) error {
	_, err := client.Delete(ctx, &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: showBox(id)}})
	return err
}

// planBoxMetadata shows the lease only now and then: it need not.
func planBoxMetadata(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if !r.there {
		return r, nil
	}
	if rand.IntN(2) == 0 {
		return planBoxWrite(h, name, r)
	}
	return writeBox(h, name, r, "")
}

// planBoxWrite always shows the lease.
func planBoxWrite(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	return writeBox(h, name, r, r.hold.shown())
}

func writeBox(h *hand[box], name string, r entry[box], id string) (entry[box], move[box]) {
	next := r.is
	next.version = newVersion()
	o := &container.SetMetadataOptions{Metadata: metadata(next.version), LeaseAccessConditions: showBox(id)}
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := h.box(name).SetMetadata(ctx, o)
		return err
	}
}

func planBoxAccess(h *hand[box], name string, r entry[box]) (entry[box], move[box]) {
	if !r.there {
		return r, nil
	}
	o := &container.SetAccessPolicyOptions{AccessConditions: &container.AccessConditions{}}
	if rand.IntN(2) == 0 {
		o.AccessConditions.LeaseAccessConditions = showBox(r.hold.shown())
	}
	if rand.IntN(2) == 0 {
		o.Access = to.Ptr(container.PossiblePublicAccessTypeValues()[rand.IntN(2)])
	}
	for range rand.IntN(4) {
		o.ContainerACL = append(o.ContainerACL, newPolicy())
	}
	next := r.is
	next.access = accessText(o.Access, o.ContainerACL)
	return r.with(next), func(ctx context.Context, _ *entry[box]) error {
		_, err := h.box(name).SetAccessPolicy(ctx, o)
		return err
	}
}

// newPolicy is a stored access policy.
func newPolicy() *container.SignedIdentifier {
	start := time.Unix(1_800_000_000+rand.Int64N(1e8), 0)
	return &container.SignedIdentifier{ID: to.Ptr(newVersion()), AccessPolicy: &container.AccessPolicy{
		Start: &start, Expiry: to.Ptr(start.Add(time.Hour)), Permission: to.Ptr([]string{"r", "rl", "racwdl"}[rand.IntN(3)]),
	}}
}

// boxLease is the SDK's client of a container's lease.
func boxLease(client *container.Client, id string) *lease.ContainerClient {
	c, err := lease.NewContainerClient(client, &lease.ContainerClientOptions{LeaseID: &id})
	if err != nil {
		panic(err) // it does nothing that could fail
	}
	return c
}

func leaseOfBox(h *hand[box], name, id string) tenure { return boxTenure{boxLease(h.box(name), id)} }

func boxWords(w words) guardWords { return w.atBox }

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
)

// planCreateContainer creates a container, empty even if one of that name was
// deleted before.
func planCreateContainer(d *driver[containerContent], name string, s state[containerContent]) (state[containerContent], call[containerContent]) {
	if s.exists {
		return s, nil
	}
	next := containerContent{version: newVersion(), access: accessText(nil, nil)}
	return s.with(next), func(ctx context.Context, _ *state[containerContent]) error {
		_, err := containerClient(d, name).Create(ctx, &container.CreateOptions{Metadata: metadata(next.version)})
		return err
	}
}

// planPutInside puts a blob that must be deleted with the container.
func planPutInside(d *driver[containerContent], name string, s state[containerContent]) (state[containerContent], call[containerContent]) {
	if !s.exists || len(s.content.blobs) == 3 {
		return s, nil
	}
	next, blob := s.content, fmt.Sprint("b", len(s.content.blobs))
	next.blobs = append(slices.Clip(next.blobs), blob)
	return s.with(next), func(ctx context.Context, _ *state[containerContent]) error {
		_, err := containerClient(d, name).NewBlockBlobClient(blob).Upload(ctx, body(newPiece()), nil)
		return err
	}
}

// planDeleteContainer remembers the id of the lease, to check that it stays
// ended.
func planDeleteContainer(d *driver[containerContent], name string, s state[containerContent]) (state[containerContent], call[containerContent]) {
	if !s.exists {
		return s, nil
	}
	return state[containerContent]{lease: s.lease.ended()}, func(ctx context.Context, _ *state[containerContent]) error {
		return deleteAsHolder(ctx, d, name, s, s.lease.requiredID())
	}
}

// deleteAsHolder deletes the container, the only operation that its lease
// guards.
func deleteAsHolder(ctx context.Context, d *driver[containerContent], name string, _ state[containerContent], id string) error {
	return deleteContainer(ctx, containerClient(d, name), id)
}

func deleteContainer(ctx context.Context, client *container.Client, id string) error {
	_, err := client.Delete(ctx, &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: containerLeaseCondition(id)}})
	return err
}

// planContainerMetadata shows the lease id only sometimes: it is optional.
func planContainerMetadata(d *driver[containerContent], name string, s state[containerContent]) (state[containerContent], call[containerContent]) {
	if !s.exists {
		return s, nil
	}
	if rand.IntN(2) == 0 {
		return planContainerWrite(d, name, s)
	}
	return setContainerMetadata(d, name, s, "")
}

// planContainerWrite always shows the lease id.
func planContainerWrite(d *driver[containerContent], name string, s state[containerContent]) (state[containerContent], call[containerContent]) {
	return setContainerMetadata(d, name, s, s.lease.requiredID())
}

func setContainerMetadata(d *driver[containerContent], name string, s state[containerContent], id string) (state[containerContent], call[containerContent]) {
	next := s.content
	next.version = newVersion()
	o := &container.SetMetadataOptions{Metadata: metadata(next.version), LeaseAccessConditions: containerLeaseCondition(id)}
	return s.with(next), func(ctx context.Context, _ *state[containerContent]) error {
		_, err := containerClient(d, name).SetMetadata(ctx, o)
		return err
	}
}

func planAccessPolicy(d *driver[containerContent], name string, s state[containerContent]) (state[containerContent], call[containerContent]) {
	if !s.exists {
		return s, nil
	}
	o := &container.SetAccessPolicyOptions{AccessConditions: &container.AccessConditions{}}
	if rand.IntN(2) == 0 {
		o.AccessConditions.LeaseAccessConditions = containerLeaseCondition(s.lease.requiredID())
	}
	if rand.IntN(2) == 0 {
		o.Access = to.Ptr(container.PossiblePublicAccessTypeValues()[rand.IntN(2)])
	}
	for range rand.IntN(4) {
		o.ContainerACL = append(o.ContainerACL, newPolicy())
	}
	next := s.content
	next.access = accessText(o.Access, o.ContainerACL)
	return s.with(next), func(ctx context.Context, _ *state[containerContent]) error {
		_, err := containerClient(d, name).SetAccessPolicy(ctx, o)
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

func leaseOfContainer(d *driver[containerContent], name, id string) leaseClient {
	return newContainerLease(containerClient(d, name), id)
}

func containerCodes(c codes) accessCodes { return c.container }

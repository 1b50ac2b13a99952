//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const contenders = 2 // for each target

// contention is one target whose lease several clients acquire.
type contention struct {
	counters
	name   string // of the container
	client *container.Client
	target target
	holder atomic.Pointer[string] // the id of the acknowledged lease, until its release is sent
	grants atomic.Int64
}

// target is a blob or a container, by the container's client.
type target struct {
	create func(context.Context, *container.Client) error // beyond the container; nil if nothing
	lease  func(c *container.Client, id string) leaseClient
	write  func(ctx context.Context, c *container.Client, id string) error // what only the holder may do
}

func newContention(kind, name string, t target) crashClient {
	return &contention{counters: newCounters(kind, []string{"granted"}), name: name, target: t}
}

func newBlobContention(name string) crashClient {
	blob := func(c *container.Client) *blockblob.Client { return c.NewBlockBlobClient("shared") }
	return newContention("contention for a blob", name, target{
		create: func(ctx context.Context, c *container.Client) error {
			_, err := blob(c).Upload(ctx, bytesBody(nil), nil)
			return err
		},
		lease: func(c *container.Client, id string) leaseClient { return newBlobLease(blob(c), id) },
		write: func(ctx context.Context, c *container.Client, id string) error {
			_, err := blob(c).Upload(ctx, bytesBody([]byte(id)), &blockblob.UploadOptions{AccessConditions: leaseCondition(id)})
			return err
		},
	})
}

func newContainerContention(name string) crashClient {
	return newContention("contention for a container", name, target{
		lease: func(c *container.Client, id string) leaseClient { return newContainerLease(c, id) },
		write: writeContainerAsHolder,
	})
}

// writeContainerAsHolder writes under the lease, and checks that nobody else can
// delete the container.
func writeContainerAsHolder(ctx context.Context, c *container.Client, id string) error {
	_, err := c.SetMetadata(ctx, &container.SetMetadataOptions{
		Metadata: metadata(newVersion()), LeaseAccessConditions: containerLeaseCondition(id),
	})
	if err != nil {
		return err
	}
	return wantOthersRefused(func(id string) error { return deleteContainer(ctx, c, id) }, azureCodes.container)
}

func (c *contention) connect(e endpoint) { c.client = e.client.NewContainerClient(c.name) }

func (c *contention) open(ctx context.Context) error {
	if _, err := c.client.Create(ctx, nil); err != nil || c.target.create == nil {
		return err
	}
	return c.target.create(ctx, c.client)
}

func (c *contention) close(ctx context.Context) error {
	_, err := c.client.Delete(ctx, nil)
	return err
}

// counts is for the time when no client works.
func (c *contention) counts() *counters {
	c.acknowledged["granted"] = int(c.grants.Load())
	return &c.counters
}

func (c *contention) work(ctx context.Context) error {
	var all []func(context.Context) error
	for range contenders {
		all = append(all, c.contend)
	}
	return parallel(ctx, all)
}

// contend acquires the lease, writes and releases, until the server dies.
func (c *contention) contend(ctx context.Context) error {
	for {
		id := newID()
		err := c.target.lease(c.client, id).acquire(ctx, -1)
		if bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
			continue
		}
		if err == nil {
			err = c.useLease(ctx, &id)
		}
		if err != nil {
			return ignoreCrash(err)
		}
	}
}

// useLease writes and releases. It is a violation if another client holds the
// lease at the same time.
func (c *contention) useLease(ctx context.Context, id *string) error {
	if !c.holder.CompareAndSwap(nil, id) {
		return fmt.Errorf("%s: the lease was granted to two: %w", c.kind, errViolation)
	}
	c.grants.Add(1)
	if err := c.target.write(ctx, c.client, *id); err != nil {
		return err
	}
	c.holder.Store(nil) // from now on another may hold it
	return c.target.lease(c.client, *id).release(ctx)
}

// check: a lease that was granted, and whose release was not sent, is still
// held. Then it frees the target.
func (c *contention) check(ctx context.Context) error {
	if id := c.holder.Swap(nil); id != nil {
		if err := c.target.lease(c.client, *id).renew(ctx); err != nil {
			return fmt.Errorf("%s: renew of an acknowledged lease: %w", c.kind, err)
		}
		if err := c.target.write(ctx, c.client, *id); err != nil {
			return fmt.Errorf("%s: write under an acknowledged lease: %w", c.kind, err)
		}
	}
	err := c.target.lease(c.client, newID()).breakIn(ctx, 0)
	if err != nil && !bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation) {
		return fmt.Errorf("%s: break: %w", c.kind, err)
	}
	return nil
}

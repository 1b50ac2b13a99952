//go:build unix

package blobtest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// contest is one blob that everybody wants the lease of.
type contest struct {
	client *blockblob.Client
	holder atomic.Pointer[string] // the id of whom it was acknowledged to, until that one lets go
	wins   atomic.Int64
}

func (c *contest) lease(id string) *lease.BlobClient {
	l, err := lease.NewBlobClient(c.client, &lease.BlobClientOptions{LeaseID: &id})
	if err != nil {
		panic(err) // it does nothing that could fail
	}
	return l
}

// compete takes the lease, writes and lets go, until the server dies. To hold it
// while another does is an error.
func (c *contest) compete(ctx context.Context) error {
	for {
		id := newID()
		_, err := c.lease(id).AcquireLease(ctx, -1, nil)
		if bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
			continue
		}
		if err == nil {
			err = c.enjoy(ctx, &id)
		}
		if err != nil {
			return unlessGone(err)
		}
	}
}

// enjoy is what the holder does.
func (c *contest) enjoy(ctx context.Context, id *string) error {
	if !c.holder.CompareAndSwap(nil, id) {
		return fmt.Errorf("the lease was given to two: %w", errTwo)
	}
	c.wins.Add(1)
	o := &blockblob.UploadOptions{AccessConditions: show(*id)}
	if _, err := c.client.Upload(ctx, bytesBody([]byte(*id)), o); err != nil {
		return err
	}
	c.holder.Store(nil) // from now on, another may have it
	_, err := c.lease(*id).ReleaseLease(ctx, nil)
	return err
}

// check: who was told to hold the lease, and did not begin to let go, holds it.
// Then it is free again.
func (c *contest) check(ctx context.Context) error {
	if id := c.holder.Swap(nil); id != nil {
		if _, err := c.lease(*id).RenewLease(ctx, nil); err != nil {
			return fmt.Errorf("contest: renew of an acknowledged lease: %w", err)
		}
	}
	_, err := c.lease(newID()).BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: to.Ptr[int32](0)})
	if err != nil && !bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation) {
		return fmt.Errorf("contest: break: %w", err)
	}
	return nil
}

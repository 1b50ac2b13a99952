//go:build unix

package azuretest

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// boxPrize is a container to win, and what both prizes have.
type boxPrize struct {
	ledger
	name   string
	client *container.Client
}

func newBoxContest(name string) party {
	return &contest{prize: &boxPrize{ledger: newLedger("contest for a container", []string{"won"}), name: name}}
}

func (p *boxPrize) connect(f face) { p.client = f.client.NewContainerClient(p.name) }

func (p *boxPrize) open(ctx context.Context) error {
	_, err := p.client.Create(ctx, nil)
	return err
}

func (p *boxPrize) close(ctx context.Context) error {
	_, err := p.client.Delete(ctx, nil)
	return err
}

// The contest works and checks, not the prize.
func (p *boxPrize) work(context.Context) error  { return nil }
func (p *boxPrize) check(context.Context) error { return nil }

func (p *boxPrize) acquire(ctx context.Context, id string) error {
	_, err := boxLease(p.client, id).AcquireLease(ctx, -1, nil)
	return err
}

func (p *boxPrize) renew(ctx context.Context, id string) error {
	_, err := boxLease(p.client, id).RenewLease(ctx, nil)
	return err
}

func (p *boxPrize) release(ctx context.Context, id string) error {
	_, err := boxLease(p.client, id).ReleaseLease(ctx, nil)
	return err
}

func (p *boxPrize) free(ctx context.Context) error {
	_, err := boxLease(p.client, newID()).BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: to.Ptr[int32](0)})
	return err
}

// use writes under the lease, and finds that nobody else can delete the prize.
func (p *boxPrize) use(ctx context.Context, id string) error {
	_, err := p.client.SetMetadata(ctx, &container.SetMetadataOptions{
		Metadata:              metadata(newVersion()),
		LeaseAccessConditions: &container.LeaseAccessConditions{LeaseID: &id},
	})
	if err != nil {
		return err
	}
	return refuseOthers(func(id string) error { return deleteBox(ctx, p.client, id) }, azureWords.atBox)
}

// blobPrize is a blob to win, in a container that is not.
type blobPrize struct{ boxPrize }

func newBlobContest(name string) party {
	return &contest{prize: &blobPrize{boxPrize{ledger: newLedger("contest for a blob", []string{"won"}), name: name}}}
}

func (p *blobPrize) blob() *blockblob.Client { return p.client.NewBlockBlobClient("shared") }

func (p *blobPrize) open(ctx context.Context) error {
	if err := p.boxPrize.open(ctx); err != nil {
		return err
	}
	_, err := p.blob().Upload(ctx, bytesBody(nil), nil)
	return err
}

func (p *blobPrize) acquire(ctx context.Context, id string) error {
	_, err := blobLease(p.blob(), id).AcquireLease(ctx, -1, nil)
	return err
}

func (p *blobPrize) renew(ctx context.Context, id string) error {
	_, err := blobLease(p.blob(), id).RenewLease(ctx, nil)
	return err
}

func (p *blobPrize) release(ctx context.Context, id string) error {
	_, err := blobLease(p.blob(), id).ReleaseLease(ctx, nil)
	return err
}

func (p *blobPrize) free(ctx context.Context) error {
	_, err := blobLease(p.blob(), newID()).BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: to.Ptr[int32](0)})
	return err
}

func (p *blobPrize) use(ctx context.Context, id string) error {
	_, err := p.blob().Upload(ctx, bytesBody([]byte(id)), &blockblob.UploadOptions{AccessConditions: show(id)})
	return err
}

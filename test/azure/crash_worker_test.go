//go:build unix

package azuretest

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

const (
	blobsEach     = 4 // that a worker has
	snapshotsEach = 2 // that a blob has at most
)

// worker has a container of its own, does one thing after the other to the blobs
// in it, and remembers what it was told.
type worker struct {
	ledger
	name   string
	client *container.Client

	known map[string]blob // what was acknowledged

	// What it was doing when the server died: to which blob, and what that
	// would be if it was done.
	to    string
	maybe blob
}

func newWorker(name string) party {
	var duties []string
	for _, d := range deeds {
		duties = append(duties, d.name)
	}
	w := &worker{ledger: newLedger("block blobs", duties), name: name, known: map[string]blob{}}
	for i := range blobsEach {
		w.known[fmt.Sprint("b", i)] = nothing
	}
	return w
}

func (w *worker) connect(f face) { w.client = f.client.NewContainerClient(w.name) }

func (w *worker) open(ctx context.Context) error {
	_, err := w.client.Create(ctx, nil)
	return err
}

func (w *worker) close(ctx context.Context) error {
	_, err := w.client.Delete(ctx, nil)
	return err
}

// work goes on until the server dies. A refusal is an error: what a worker does
// is always allowed.
func (w *worker) work(ctx context.Context) error {
	for {
		name := fmt.Sprint("b", rand.IntN(blobsEach))
		b := w.known[name]
		what := deeds[rand.IntN(len(deeds))]
		next, do := what.plan(w, name, b)
		if do == nil {
			continue // makes no sense now
		}
		w.doing, w.to, w.maybe = what.name, name, next
		if err := do(ctx, &next); err != nil {
			if statusOf(err) != 0 {
				return fmt.Errorf("%s: %s of %s/%s, which is %v: %w", w.name, what.name, w.name, name, b, err)
			}
			return nil // nobody answers any more
		}
		w.known[name], w.doing = next, ""
		w.acks[what.name]++
	}
}

// act does what was planned. Where the answer tells more, it puts that in.
type act func(ctx context.Context, next *blob) error

// deed is something to do to a blob. The plan is what the blob will be, and how;
// no act if it makes no sense.
type deed struct {
	name string
	plan func(w *worker, name string, b blob) (blob, act)
}

var deeds = []deed{
	{"put", planPut}, {"put", planPut}, {"put blocks", planBlocks}, {"put blocks", planBlocks},
	{"set metadata", planMetadata}, {"copy", planCopy}, {"delete", planDelete},
	{"snapshot", planSnapshot}, {"snapshot", planSnapshot}, {"delete snapshot", planDeleteSnapshot},
	{"acquire", planAcquire}, {"acquire", planAcquire}, {"renew", planRenew}, {"change", planChange},
	{"release", planRelease}, {"break", planBreak},
}

// newPiece is small enough for the database, or large enough for a file.
func newPiece() piece {
	sizes := []int{rand.IntN(8 << 10), 64<<10 + rand.IntN(100), 70<<10 + rand.IntN(maxPiece-70<<10)}
	return piece{seed: rand.Uint64(), size: sizes[rand.IntN(len(sizes))]}
}

func newVersion() string { return fmt.Sprint(rand.Uint32()) }

func metadata(version string) map[string]*string { return map[string]*string{"version": &version} }

func body(p piece) io.ReadSeekCloser { return bytesBody(p.bytes()) }

// access shows the lease, if the blob has one.
func (b blob) access() *sdk.AccessConditions {
	if b.state != leased && b.state != breaking {
		return nil
	}
	return show(b.id)
}

func (w *worker) blob(name string) *blockblob.Client { return w.client.NewBlockBlobClient(name) }

func planPut(w *worker, name string, b blob) (blob, act) {
	p, version := newPiece(), newVersion()
	return b.written([]piece{p}, sumOf([]piece{p}), version), func(ctx context.Context, _ *blob) error {
		o := &blockblob.UploadOptions{Metadata: metadata(version), AccessConditions: b.access()}
		_, err := w.blob(name).Upload(ctx, body(p), o)
		return err
	}
}

// planBlocks makes the blob of new blocks, and of some that it has, if it has.
func planBlocks(w *worker, name string, b blob) (blob, act) {
	if b.state == broken {
		return b, nil // is it forgotten with the first block or with the list?
	}
	var list, fresh []piece
	for _, p := range b.pieces {
		if p.block != "" && len(list) < 4 && rand.IntN(2) == 0 {
			list = append(list, p)
		}
	}
	for range 1 + rand.IntN(3) {
		p := newPiece()
		p.size++ // a block is not empty
		id := fmt.Appendf(nil, "%020d", p.seed)
		p.block = base64.StdEncoding.EncodeToString(id)
		fresh = append(fresh, p)
		list = append(list, p)
	}
	version := newVersion()
	return b.written(list, sumOf(list), version), func(ctx context.Context, _ *blob) error {
		return w.putBlocks(ctx, name, b, list, fresh, version)
	}
}

func (w *worker) putBlocks(ctx context.Context, name string, b blob, list, fresh []piece, version string) error {
	access := b.access()
	stage := &blockblob.StageBlockOptions{}
	if access != nil {
		stage.LeaseAccessConditions = access.LeaseAccessConditions
	}
	for _, p := range fresh {
		if _, err := w.blob(name).StageBlock(ctx, p.block, body(p), stage); err != nil {
			return err
		}
	}
	var ids []string
	for _, p := range list {
		ids = append(ids, p.block)
	}
	_, err := w.blob(name).CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{Metadata: metadata(version), AccessConditions: access})
	return err
}

func planMetadata(w *worker, name string, b blob) (blob, act) {
	if !b.there {
		return b, nil
	}
	version := newVersion()
	return b.written(b.pieces, b.sum, version), func(ctx context.Context, _ *blob) error {
		_, err := w.blob(name).SetMetadata(ctx, metadata(version), &sdk.SetMetadataOptions{AccessConditions: b.access()})
		return err
	}
}

// planCopy copies another blob, or one of the snapshots of any.
func planCopy(w *worker, name string, b blob) (blob, act) {
	from := fmt.Sprint("b", rand.IntN(blobsEach))
	source, client := w.known[from], w.blob(from)
	sum := source.sum
	if id := source.anySnapshot(); id != "" && rand.IntN(2) == 0 {
		sum = source.snapshots[id]
		client, _ = client.WithSnapshot(id) // fails only if the address has no form
	} else if from == name || !source.there {
		return b, nil
	}
	version := newVersion()
	return b.written(nil, sum, version), func(ctx context.Context, _ *blob) error {
		o := &sdk.StartCopyFromURLOptions{Metadata: metadata(version), AccessConditions: b.access()}
		_, err := w.blob(name).StartCopyFromURL(ctx, client.URL(), o)
		return err
	}
}

func planDelete(w *worker, name string, b blob) (blob, act) {
	if !b.there || rand.IntN(3) > 0 {
		return b, nil
	}
	return nothing, func(ctx context.Context, _ *blob) error {
		o := &sdk.DeleteOptions{DeleteSnapshots: to.Ptr(sdk.DeleteSnapshotsOptionTypeInclude), AccessConditions: b.access()}
		_, err := w.blob(name).Delete(ctx, o)
		return err
	}
}

func planSnapshot(w *worker, name string, b blob) (blob, act) {
	if !b.there || len(b.snapshots) == snapshotsEach {
		return b, nil
	}
	return b.with(unheard, b.sum), func(ctx context.Context, next *blob) error {
		answer, err := w.blob(name).CreateSnapshot(ctx, nil)
		if err == nil {
			*next = b.with(*answer.Snapshot, b.sum)
		}
		return err
	}
}

func planDeleteSnapshot(w *worker, name string, b blob) (blob, act) {
	id := b.anySnapshot()
	if id == "" {
		return b, nil
	}
	return b.without(id), func(ctx context.Context, _ *blob) error {
		client, err := w.blob(name).WithSnapshot(id)
		if err == nil {
			_, err = client.Delete(ctx, nil)
		}
		return err
	}
}

func (w *worker) lease(name, id string) *lease.BlobClient { return blobLease(w.blob(name), id) }

// blobLease is the SDK's client of a blob's lease.
func blobLease[T blockblob.Client | sdk.Client](client *T, id string) *lease.BlobClient {
	c, err := lease.NewBlobClient(client, &lease.BlobClientOptions{LeaseID: &id})
	if err != nil {
		panic(err) // it does nothing that could fail
	}
	return c
}

func (b blob) leased(state, id string) blob {
	b.state, b.id = state, id
	return b
}

func planAcquire(w *worker, name string, b blob) (blob, act) {
	if !b.there || b.state == leased || b.state == breaking {
		return b, nil
	}
	id, seconds := newID(), []int32{-1, 60}[rand.IntN(2)]
	return b.leased(leased, id), func(ctx context.Context, _ *blob) error {
		_, err := w.lease(name, id).AcquireLease(ctx, seconds, nil)
		return err
	}
}

func planRenew(w *worker, name string, b blob) (blob, act) {
	if b.state != leased {
		return b, nil
	}
	return b, func(ctx context.Context, _ *blob) error {
		_, err := w.lease(name, b.id).RenewLease(ctx, nil)
		return err
	}
}

func planChange(w *worker, name string, b blob) (blob, act) {
	if b.state != leased {
		return b, nil
	}
	id := newID()
	return b.leased(leased, id), func(ctx context.Context, _ *blob) error {
		_, err := w.lease(name, b.id).ChangeLease(ctx, id, nil)
		return err
	}
}

func planRelease(w *worker, name string, b blob) (blob, act) {
	if b.state != leased && b.state != breaking {
		return b, nil
	}
	return b.leased(available, ""), func(ctx context.Context, _ *blob) error {
		_, err := w.lease(name, b.id).ReleaseLease(ctx, nil)
		return err
	}
}

func planBreak(w *worker, name string, b blob) (blob, act) {
	if b.state != leased {
		return b, nil
	}
	period, state := int32(0), broken
	if rand.IntN(2) == 0 {
		period, state = 60, breaking
	}
	return b.leased(state, b.id), func(ctx context.Context, _ *blob) error {
		_, err := w.lease(name, b.id).BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: &period})
		return err
	}
}

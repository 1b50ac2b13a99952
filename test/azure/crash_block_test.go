//go:build unix

package azuretest

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// blockBlob is the content of a block blob.
type blockBlob struct {
	sum     string
	version string  // kept in the metadata
	pieces  []piece // what it is made of; nil after a copy
}

func newBlockDriver(name string) crashClient {
	return newDriver("block blobs", name, 4, kind[blockBlob]{
		describe:   blockBlob.String,
		read:       readBlockBlobs,
		leaseRules: leaseRules[blockBlob]{leaseOfBlob[blockBlob], blobCodes, putAsHolder, planPut},
		operations: append(leaseOperations[blockBlob](), []operation[blockBlob]{
			{"put", planPut}, {"put", planPut}, {"put blocks", planBlocks}, {"put blocks", planBlocks},
			{"set metadata", planMetadata}, {"copy", planCopy},
			{"snapshot", planSnapshot[blockBlob]}, {"snapshot", planSnapshot[blockBlob]},
			{"delete snapshot", planDeleteSnapshot[blockBlob]}, {"delete", planDelete[blockBlob]},
			{"refused write", planRefusedWrite[blockBlob]},
		}...),
	})
}

const beforeVersion = ", version "

func (b blockBlob) String() string { return b.sum + beforeVersion + b.version }

func readBlockBlobs(ctx context.Context, d *driver[blockBlob]) (map[string]view, error) {
	return d.readBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		_, sum, err := d.readBlob(ctx, item)
		return blockBlob{sum: sum, version: deref(item.Metadata["version"])}.String(), err
	})
}

func blockClient(d *driver[blockBlob], name string) *blockblob.Client {
	return d.container().NewBlockBlobClient(name)
}

func planPut(d *driver[blockBlob], name string, s state[blockBlob]) (state[blockBlob], call[blockBlob]) {
	p, version := newPiece(), newVersion()
	next := blockBlob{sumOf([]piece{p}), version, []piece{p}}
	return s.written(next), func(ctx context.Context, _ *state[blockBlob]) error {
		return put(ctx, d, name, p, version, s.lease.requiredID())
	}
}

func putAsHolder(ctx context.Context, d *driver[blockBlob], name string, _ state[blockBlob], id string) error {
	return put(ctx, d, name, newPiece(), newVersion(), id)
}

func put(ctx context.Context, d *driver[blockBlob], name string, p piece, version, id string) error {
	o := &blockblob.UploadOptions{Metadata: metadata(version), AccessConditions: leaseCondition(id)}
	_, err := blockClient(d, name).Upload(ctx, body(p), o)
	return err
}

// planBlocks makes the blob of new blocks, and of some that it has.
func planBlocks(d *driver[blockBlob], name string, s state[blockBlob]) (state[blockBlob], call[blockBlob]) {
	if s.lease.state == broken {
		return s, nil // the first block or the list may be what forgets it
	}
	var list, fresh []piece
	for _, p := range s.content.pieces {
		if p.block != "" && len(list) < 4 && rand.IntN(2) == 0 {
			list = append(list, p)
		}
	}
	for range 1 + rand.IntN(3) {
		p := newPiece()
		p.size++ // a block is not empty
		p.block = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%020d", p.seed))
		fresh = append(fresh, p)
	}
	list = append(list, fresh...)
	version := newVersion()
	return s.written(blockBlob{sumOf(list), version, list}), func(ctx context.Context, _ *state[blockBlob]) error {
		return putBlocks(ctx, blockClient(d, name), list, fresh, version, s.lease.condition())
	}
}

func putBlocks(ctx context.Context, client *blockblob.Client, list, fresh []piece, version string, access *sdk.AccessConditions) error {
	stage := &blockblob.StageBlockOptions{}
	if access != nil {
		stage.LeaseAccessConditions = access.LeaseAccessConditions
	}
	for _, p := range fresh {
		if _, err := client.StageBlock(ctx, p.block, body(p), stage); err != nil {
			return err
		}
	}
	var ids []string
	for _, p := range list {
		ids = append(ids, p.block)
	}
	_, err := client.CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{Metadata: metadata(version), AccessConditions: access})
	return err
}

func planMetadata(d *driver[blockBlob], name string, s state[blockBlob]) (state[blockBlob], call[blockBlob]) {
	if !s.exists {
		return s, nil
	}
	next := s.content
	next.version = newVersion()
	return s.written(next), func(ctx context.Context, _ *state[blockBlob]) error {
		_, err := d.blob(name).SetMetadata(ctx, metadata(next.version), &sdk.SetMetadataOptions{AccessConditions: s.lease.condition()})
		return err
	}
}

// planCopy copies another blob, or a snapshot of any.
func planCopy(d *driver[blockBlob], name string, s state[blockBlob]) (state[blockBlob], call[blockBlob]) {
	from := d.targets[rand.IntN(len(d.targets))]
	source, client := d.known[from], d.blob(from)
	sum := source.content.sum
	if id := source.anySnapshot(); id != "" && rand.IntN(2) == 0 {
		sum, _, _ = strings.Cut(source.snapshots[id], beforeVersion)
		client, _ = client.WithSnapshot(id) // fails only for an invalid URL
	} else if from == name || !source.exists {
		return s, nil
	}
	version := newVersion()
	return s.written(blockBlob{sum: sum, version: version}), func(ctx context.Context, _ *state[blockBlob]) error {
		o := &sdk.StartCopyFromURLOptions{Metadata: metadata(version), AccessConditions: s.lease.condition()}
		_, err := d.blob(name).StartCopyFromURL(ctx, client.URL(), o)
		return err
	}
}

//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// appendBlob is the content of an append blob.
type appendBlob struct {
	blocks []piece // in order
	sealed bool
}

const maxBlocks = 20 // so that a blob is read quickly

// A code of Azure's that its SDK does not name.
const blobIsSealed bloberror.Code = "BlobIsSealed"

func newAppendDriver(name string) crashClient {
	return newDriver("append blobs", name, 3, kind[appendBlob]{
		describe:   describeAppend,
		read:       readAppendBlobs,
		leaseRules: leaseRules[appendBlob]{leaseOfBlob[appendBlob], blobCodes, appendAsHolder, planAppendWrite},
		operations: append(leaseOperations[appendBlob](), []operation[appendBlob]{
			{"create", planCreateAppend}, {"append", planAppend}, {"append", planAppend}, {"append", planAppend},
			{"append at its end", planAppendAt}, {"append at its end", planAppendAt},
			{"refused append elsewhere", planAppendElsewhere}, {"seal", planSeal}, {"refused append to sealed", planAppendSealed},
			{"snapshot", planSnapshot[appendBlob]}, {"delete snapshot", planDeleteSnapshot[appendBlob]}, {"delete", planDelete[appendBlob]},
			{"refused write", planRefusedWrite[appendBlob]},
		}...),
	})
}

func describeAppend(b appendBlob) string { return appendText(sumOf(b.blocks), len(b.blocks), b.sealed) }

func appendText(sum string, blocks int, sealed bool) string {
	return fmt.Sprintf("%s in %d blocks, sealed: %t", sum, blocks, sealed)
}

func readAppendBlobs(ctx context.Context, d *driver[appendBlob]) (map[string]view, error) {
	return d.readBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		head, sum, err := d.readBlob(ctx, item)
		if err != nil {
			return "", err
		}
		sealed := deref(head.IsSealed)
		if listed := deref(item.Properties.IsSealed); listed != sealed {
			return "", fmt.Errorf("sealed: %t, but the list says %t", sealed, listed)
		}
		return appendText(sum, int(deref(head.BlobCommittedBlockCount)), sealed), nil
	})
}

func (b appendBlob) size() (n int64) {
	for _, p := range b.blocks {
		n += int64(p.size)
	}
	return n
}

func (b appendBlob) with(p piece) appendBlob {
	b.blocks = append(slices.Clip(b.blocks), p)
	return b
}

// newBlock has 1 byte to 100 KiB: for the database, for a file, or near the size
// that decides.
func newBlock() piece {
	sizes := []int{1 + rand.IntN(20), 1 + rand.IntN(8<<10), 64<<10 + rand.IntN(3) - 1, 64<<10 + rand.IntN(36<<10+1)}
	return piece{seed: rand.Uint64(), size: sizes[rand.IntN(len(sizes))]}
}

func appendClient(d *driver[appendBlob], name string) *appendblob.Client {
	return d.container().NewAppendBlobClient(name)
}

// planCreateAppend creates an empty blob, sometimes over an existing one.
func planCreateAppend(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if s.exists && (s.content.sealed || rand.IntN(4) > 0) {
		return s, nil
	}
	return s.written(appendBlob{}), func(ctx context.Context, _ *state[appendBlob]) error {
		_, err := appendClient(d, name).Create(ctx, &appendblob.CreateOptions{AccessConditions: s.lease.condition()})
		return err
	}
}

func (b appendBlob) hasRoom() bool { return !b.sealed && len(b.blocks) < maxBlocks }

func planAppend(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if !s.exists || !s.content.hasRoom() {
		return s, nil
	}
	p := newBlock()
	return s.written(s.content.with(p)), func(ctx context.Context, _ *state[appendBlob]) error {
		answer, err := appendClient(d, name).AppendBlock(ctx, body(p), &appendblob.AppendBlockOptions{AccessConditions: s.lease.condition()})
		if at := fmt.Sprint(s.content.size()); err == nil && deref(answer.BlobAppendOffset) != at {
			err = fmt.Errorf("a block was appended at %s, want %s: %w", deref(answer.BlobAppendOffset), at, errViolation)
		}
		return err
	}
}

// appendAt appends on the condition that the blob ends there.
func appendAt(ctx context.Context, d *driver[appendBlob], name string, l leaseState, p piece, at int64) error {
	o := &appendblob.AppendBlockOptions{
		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &at},
		AccessConditions:               l.condition(),
	}
	_, err := appendClient(d, name).AppendBlock(ctx, body(p), o)
	return err
}

func planAppendAt(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if !s.exists || !s.content.hasRoom() {
		return s, nil
	}
	p := newBlock()
	return s.written(s.content.with(p)), func(ctx context.Context, _ *state[appendBlob]) error {
		return appendAt(ctx, d, name, s.lease, p, s.content.size())
	}
}

// planAppendElsewhere appends like a writer that missed a block, or does not know
// that its last one was written.
func planAppendElsewhere(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if !s.exists || s.content.sealed || len(s.content.blocks) == 0 {
		return s, nil
	}
	at := s.content.size() + 1
	if rand.IntN(2) == 0 {
		at = s.content.size() - int64(s.content.blocks[len(s.content.blocks)-1].size)
	}
	return s, func(ctx context.Context, _ *state[appendBlob]) error {
		return wantRefused(appendAt(ctx, d, name, s.lease, newBlock(), at), bloberror.AppendPositionConditionNotMet)
	}
}

// planSeal seals full blobs always, others sometimes.
func planSeal(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if !s.exists || s.content.sealed || s.content.hasRoom() && rand.IntN(3) > 0 {
		return s, nil
	}
	next := s.content
	next.sealed = true
	return s.written(next), func(ctx context.Context, _ *state[appendBlob]) error {
		o := &appendblob.SealOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: to.Ptr(s.content.size())},
			AccessConditions:               s.lease.condition(),
		}
		_, err := appendClient(d, name).Seal(ctx, o)
		return err
	}
}

func planAppendSealed(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if !s.exists || !s.content.sealed {
		return s, nil
	}
	return s, func(ctx context.Context, _ *state[appendBlob]) error {
		_, err := appendClient(d, name).AppendBlock(ctx, body(newBlock()), &appendblob.AppendBlockOptions{AccessConditions: s.lease.condition()})
		return wantRefused(err, blobIsSealed)
	}
}

// appendAsHolder appends, or sets metadata if the blob is sealed.
func appendAsHolder(ctx context.Context, d *driver[appendBlob], name string, s state[appendBlob], id string) error {
	if s.content.sealed {
		return d.setMetadata(ctx, name, id)
	}
	_, err := appendClient(d, name).AppendBlock(ctx, body(newBlock()), &appendblob.AppendBlockOptions{AccessConditions: leaseCondition(id)})
	return err
}

// planAppendWrite appends while there is room, and then sets metadata.
func planAppendWrite(d *driver[appendBlob], name string, s state[appendBlob]) (state[appendBlob], call[appendBlob]) {
	if s.content.hasRoom() {
		return planAppend(d, name, s)
	}
	return s, func(ctx context.Context, _ *state[appendBlob]) error {
		return d.setMetadata(ctx, name, s.lease.requiredID())
	}
}

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

// scroll is an append blob: its blocks, in order.
type scroll struct {
	blocks []piece
	sealed bool
}

const maxBlocks = 20 // that a scroll has, so that it is soon read

// The code that Azure gives and its SDK has no name for.
const blobIsSealed bloberror.Code = "BlobIsSealed"

func newScribe(name string) party {
	return newHand("append blobs", name, 3, craft[scroll]{
		describe: describeScroll,
		look:     lookAtScrolls,
		leasing:  leasing[scroll]{leaseOfBlob[scroll], blobWords, seizeScroll, planScrollWrite},
		feats: append(leaseFeats[scroll](), []feat[scroll]{
			{"create", planScroll}, {"append", planAppend}, {"append", planAppend}, {"append", planAppend},
			{"append at its end", planAppendAt}, {"append at its end", planAppendAt},
			{"refused append elsewhere", planAppendElsewhere}, {"seal", planSeal}, {"refused append to sealed", planAppendSealed},
			{"snapshot", planShot[scroll]}, {"delete snapshot", planDropShot[scroll]}, {"delete", planRemove[scroll]},
			{"refused write", planSeize[scroll]},
		}...),
	})
}

func describeScroll(s scroll) string { return scrollText(sumOf(s.blocks), len(s.blocks), s.sealed) }

func scrollText(sum string, blocks int, sealed bool) string {
	return fmt.Sprintf("%s in %d blocks, sealed: %t", sum, blocks, sealed)
}

func lookAtScrolls(ctx context.Context, h *hand[scroll]) (map[string]sight, error) {
	return h.lookAtBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		head, sum, err := h.fetch(ctx, item)
		if err != nil {
			return "", err
		}
		sealed := value(head.IsSealed)
		if listed := value(item.Properties.IsSealed); listed != sealed {
			return "", fmt.Errorf("sealed: %t, but the list says %t", sealed, listed)
		}
		return scrollText(sum, int(value(head.BlobCommittedBlockCount)), sealed), nil
	})
}

func (s scroll) size() (n int64) {
	for _, b := range s.blocks {
		n += int64(b.size)
	}
	return n
}

func (s scroll) and(p piece) scroll {
	s.blocks = append(slices.Clip(s.blocks), p)
	return s
}

// newBlock has 1 byte to 100 KiB: in the database, or in a file, or about where
// the one becomes the other.
func newBlock() piece {
	sizes := []int{1 + rand.IntN(20), 1 + rand.IntN(8<<10), 64<<10 + rand.IntN(3) - 1, 64<<10 + rand.IntN(36<<10+1)}
	return piece{seed: rand.Uint64(), size: sizes[rand.IntN(len(sizes))]}
}

func scrollClient(h *hand[scroll], name string) *appendblob.Client {
	return h.container().NewAppendBlobClient(name)
}

// planScroll makes an empty one, sometimes in place of one that is there.
func planScroll(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if r.there && (r.is.sealed || rand.IntN(4) > 0) {
		return r, nil
	}
	return r.written(scroll{}), func(ctx context.Context, _ *entry[scroll]) error {
		_, err := scrollClient(h, name).Create(ctx, &appendblob.CreateOptions{AccessConditions: r.hold.access()})
		return err
	}
}

func (s scroll) takesMore() bool { return !s.sealed && len(s.blocks) < maxBlocks }

func planAppend(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if !r.there || !r.is.takesMore() {
		return r, nil
	}
	p := newBlock()
	return r.written(r.is.and(p)), func(ctx context.Context, _ *entry[scroll]) error {
		answer, err := scrollClient(h, name).AppendBlock(ctx, body(p), &appendblob.AppendBlockOptions{AccessConditions: r.hold.access()})
		if at := fmt.Sprint(r.is.size()); err == nil && value(answer.BlobAppendOffset) != at {
			err = fmt.Errorf("a block was appended at %s, want %s: %w", value(answer.BlobAppendOffset), at, errWrong)
		}
		return err
	}
}

// appendAt appends on the condition that the blob ends there.
func appendAt(ctx context.Context, h *hand[scroll], name string, l hold, p piece, at int64) error {
	o := &appendblob.AppendBlockOptions{
		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &at},
		AccessConditions:               l.access(),
	}
	_, err := scrollClient(h, name).AppendBlock(ctx, body(p), o)
	return err
}

func planAppendAt(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if !r.there || !r.is.takesMore() {
		return r, nil
	}
	p := newBlock()
	return r.written(r.is.and(p)), func(ctx context.Context, _ *entry[scroll]) error {
		return appendAt(ctx, h, name, r.hold, p, r.is.size())
	}
}

// planAppendElsewhere is what a writer does that has missed a block, or does not
// know that its last one has arrived.
func planAppendElsewhere(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if !r.there || r.is.sealed || len(r.is.blocks) == 0 {
		return r, nil
	}
	at := r.is.size() + 1
	if rand.IntN(2) == 0 {
		at = r.is.size() - int64(r.is.blocks[len(r.is.blocks)-1].size)
	}
	return r, func(ctx context.Context, _ *entry[scroll]) error {
		return refused(appendAt(ctx, h, name, r.hold, newBlock(), at), bloberror.AppendPositionConditionNotMet)
	}
}

// planSeal seals full ones always, others now and then.
func planSeal(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if !r.there || r.is.sealed || r.is.takesMore() && rand.IntN(3) > 0 {
		return r, nil
	}
	next := r.is
	next.sealed = true
	return r.written(next), func(ctx context.Context, _ *entry[scroll]) error {
		o := &appendblob.SealOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: to.Ptr(r.is.size())},
			AccessConditions:               r.hold.access(),
		}
		_, err := scrollClient(h, name).Seal(ctx, o)
		return err
	}
}

func planAppendSealed(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if !r.there || !r.is.sealed {
		return r, nil
	}
	return r, func(ctx context.Context, _ *entry[scroll]) error {
		_, err := scrollClient(h, name).AppendBlock(ctx, body(newBlock()), &appendblob.AppendBlockOptions{AccessConditions: r.hold.access()})
		return refused(err, blobIsSealed)
	}
}

// seizeScroll appends, or writes beside the content of what is sealed.
func seizeScroll(ctx context.Context, h *hand[scroll], name string, r entry[scroll], id string) error {
	if r.is.sealed {
		return h.mark(ctx, name, id)
	}
	_, err := scrollClient(h, name).AppendBlock(ctx, body(newBlock()), &appendblob.AppendBlockOptions{AccessConditions: showAny(id)})
	return err
}

// planScrollWrite appends while there is room.
func planScrollWrite(h *hand[scroll], name string, r entry[scroll]) (entry[scroll], move[scroll]) {
	if r.is.takesMore() {
		return planAppend(h, name, r)
	}
	return r, func(ctx context.Context, _ *entry[scroll]) error { return h.mark(ctx, name, r.hold.shown()) }
}

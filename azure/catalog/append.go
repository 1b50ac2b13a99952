package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// MaxAppended is how many blocks an append blob takes.
const MaxAppended = 50_000

// AppendBlock adds bytes at the end of an append blob and says where they start.
// The upload is the catalog's from now on.
//
// Snapshots go on sharing the manifest: the bytes lie beyond their size.
func (c *Catalog) AppendBlock(ctx context.Context, ref Ref, u *Upload, a Access) (_ *Item, offset int64, err error) {
	defer func() { u.finish(err) }()
	if err := c.checkWrite(ref); err != nil {
		return nil, 0, err
	}
	b, err := c.lockExisting(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	defer b.unlock()

	grown := *b.item
	offset = grown.Size
	grown.Ticks = b.now()
	grown.Size += u.Size
	grown.Blocks++
	if grown.manifest == 0 {
		grown.manifest = c.nextManifest()
	}
	added := addPiece(grown.manifest, piece{start: offset, size: u.Size, chunk: u.chunk.ID})
	err = c.commit(ctx, b.change(a, b.checkAppend(a.If, u), u.addChunk(), grown.put(b.container.id), added))
	if err != nil {
		return nil, 0, err
	}
	return &grown, offset, nil
}

// checkAppend says why nothing can be appended.
func (b *blob) checkAppend(c Conditions, u *Upload) error {
	if err := b.check(c); err != nil {
		return err
	}
	switch {
	case b.item.Kind != Append:
		return azerr.New(azerr.InvalidBlobType).With("only append blobs can be appended to")
	case b.item.Sealed:
		return azerr.New(azerr.BlobIsSealed)
	case u.failed != nil:
		return u.failed
	case u.Size == 0:
		return azerr.New(azerr.InvalidHeaderValue).With("a block must not be empty")
	}
	if err := c.checkAppend(b.item.Size, u.Size); err != nil {
		return err
	}
	if b.item.Blocks >= MaxAppended {
		full := azerr.New(azerr.BlockCountExceedsLimit).With("the blob has %d blocks, and cannot have more", MaxAppended)
		full.Sentence = "The committed block count cannot exceed the maximum limit of 50,000 blocks."
		return full
	}
	return nil
}

// Seal makes an append blob take no more blocks. To seal it again is fine, and
// changes nothing.
func (c *Catalog) Seal(ctx context.Context, ref Ref, a Access) (*Item, error) {
	if err := c.checkWrite(ref); err != nil {
		return nil, err
	}
	b, err := c.lockExisting(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	sealed := *b.item
	var rows []engine.Statement
	if !sealed.Sealed {
		sealed.Sealed, sealed.Ticks = true, b.now()
		rows = append(rows, sealed.put(b.container.id))
	}
	if err := c.commit(ctx, b.change(a, b.checkSeal(a.If), rows...)); err != nil {
		return nil, err
	}
	return &sealed, nil
}

func (b *blob) checkSeal(c Conditions) error {
	if err := b.check(c); err != nil {
		return err
	}
	if b.item.Kind != Append {
		return azerr.New(azerr.InvalidBlobType).With("only append blobs can be sealed")
	}
	return c.checkAppend(b.item.Size, 0)
}

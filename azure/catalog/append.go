package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// MaxAppended is how many blocks an append blob takes.
const MaxAppended = 50_000

// AppendBlock adds bytes at the end of an append blob and says where they begin.
// It takes the upload over.
//
// Snapshots go on sharing the manifest: the bytes lie beyond their size.
func (c *Catalog) AppendBlock(ctx context.Context, ref Ref, u *Upload, a Access) (_ *Item, offset int64, _ error) {
	var grown Item
	err := c.write(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return azerr.New(azerr.BlobNotFound)
		}
		grown, offset = *e.item, e.item.Size
		grown.Ticks = e.now()
		grown.Size += u.Size
		grown.Blocks++
		if grown.manifest == 0 {
			grown.manifest = c.nextManifest()
		}
		added := insertPieces(grown.manifest, []piece{{start: offset, size: u.Size, chunk: u.chunk.ID}})
		statements := append([]engine.Statement{u.keep(1), grown.put(e.container.id)}, added...)
		judge := func() error { return e.judgeAppend(a, u) }
		return e.decideIf(ctx, a, judge, engine.Decision{Extras: statements})
	})
	u.settle(err)
	if err != nil {
		return nil, 0, err
	}
	return &grown, offset, nil
}

// judgeAppend says what speaks against appending.
func (e *edit) judgeAppend(a Access, u *Upload) error {
	if err := e.judge(a); err != nil {
		return err
	}
	switch {
	case e.item.Kind != Append:
		return azerr.New(azerr.InvalidBlobType).With("only append blobs can be appended to")
	case e.item.Sealed:
		return azerr.New(azerr.BlobIsSealed)
	case u.problem() != nil:
		return u.problem()
	case u.Size == 0:
		return azerr.New(azerr.InvalidHeaderValue).With("a block must not be empty")
	}
	if err := a.If.judgeAppend(e.item.Size, u.Size); err != nil {
		return err
	}
	if e.item.Blocks >= MaxAppended {
		full := azerr.New(azerr.BlockCountExceedsLimit).With("the blob has %d blocks, and cannot have more", MaxAppended)
		full.Sentence = "The committed block count cannot exceed the maximum limit of 50,000 blocks."
		return full
	}
	return nil
}

// Seal makes an append blob take no more blocks. To seal it again is fine, and
// changes nothing.
func (c *Catalog) Seal(ctx context.Context, ref Ref, a Access) (*Item, error) {
	var sealed Item
	err := c.write(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return azerr.New(azerr.BlobNotFound)
		}
		sealed = *e.item
		var statements []engine.Statement
		if !sealed.Sealed {
			sealed.Sealed, sealed.Ticks = true, e.now()
			statements = append(statements, sealed.put(e.container.id))
		}
		judge := func() error { return e.judgeSeal(a) }
		return e.decideIf(ctx, a, judge, engine.Decision{Extras: statements})
	})
	if err != nil {
		return nil, err
	}
	return &sealed, nil
}

func (e *edit) judgeSeal(a Access) error {
	if err := e.judge(a); err != nil {
		return err
	}
	if e.item.Kind != Append {
		return azerr.New(azerr.InvalidBlobType).With("only append blobs can be sealed")
	}
	return a.If.judgeAppend(e.item.Size, 0)
}

package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
)

// MaxPageBlob is how large a page blob may be.
const MaxPageBlob = 8 << 40

// PutBlob writes a block blob in one piece. Its MD5 becomes the blob's, unless n
// has one. Whatever blob there was of that name, of whatever kind, is
// overwritten, and its uncommitted blocks are gone. It takes the upload over.
func (c *Catalog) PutBlob(ctx context.Context, ref Ref, n New, u *Upload, a Access) (*Item, error) {
	var made *Item
	err := c.write(ctx, ref, func(e *edit) error {
		if n.ContentMD5 == nil {
			n.ContentMD5 = u.MD5[:]
		}
		made = e.make(Block, n)
		made.Size = u.Size
		statements := e.dropBlocks()
		if u.Size > 0 {
			made.manifest = c.nextManifest()
			statements = append(statements, u.keep(1))
			statements = append(statements, insertPieces(made.manifest, []piece{{size: u.Size, chunk: u.chunk.ID}})...)
		}
		return e.replace(ctx, a, made, u.problem(), statements...)
	})
	u.settle(err)
	if err != nil {
		return nil, err
	}
	return made, nil
}

// PutEmpty makes an append blob, or a page blob of size zeros.
func (c *Catalog) PutEmpty(ctx context.Context, ref Ref, kind Kind, size, sequence int64, n New, a Access) (*Item, error) {
	var made *Item
	err := c.write(ctx, ref, func(e *edit) error {
		made = e.make(kind, n)
		made.Size, made.Sequence = size, sequence
		return e.replace(ctx, a, made, checkEmpty(kind, size, sequence), e.dropBlocks()...)
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// checkEmpty refuses what no append or page blob can be made with.
func checkEmpty(kind Kind, size, sequence int64) error {
	switch {
	case kind != Append && kind != Page:
		return azerr.New(azerr.InvalidHeaderValue).With("only append blobs and page blobs are made without content")
	case kind == Append && (size != 0 || sequence != 0):
		return azerr.New(azerr.InvalidHeaderValue).With("an append blob begins empty")
	case size < 0 || size > MaxPageBlob || size%512 != 0:
		return azerr.New(azerr.InvalidHeaderValue).With("the size of a page blob must be a multiple of 512, up to 8 TiB")
	case sequence < 0:
		return azerr.New(azerr.InvalidInput).With("the sequence number must not be negative")
	}
	return nil
}

// write is edit for what makes or changes content: never a snapshot's, and not
// while the disk is full.
func (c *Catalog) write(ctx context.Context, ref Ref, change func(*edit) error) error {
	if err := c.room(); err != nil {
		return err
	}
	return c.shrink(ctx, ref, change)
}

// shrink is write for what takes no space.
func (c *Catalog) shrink(ctx context.Context, ref Ref, change func(*edit) error) error {
	if err := checkWritable(ref); err != nil {
		return err
	}
	return c.edit(ctx, ref, change)
}

// checkWritable refuses to write to snapshots, and names that no blob can have.
func checkWritable(ref Ref) error {
	if ref.IsSnapshot() {
		return azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot never changes")
	}
	return CheckBlob(ref.Blob)
}

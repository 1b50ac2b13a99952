package catalog

import (
	"cmp"
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// MaxPageBlob is how large a page blob may be.
const MaxPageBlob = 8 << 40

// New is what a new version of a blob is made with, beside its content.
type New struct {
	Headers
	Metadata, Tags map[string]string
	Tier           string // empty: inferred, Hot
}

// PutBlob writes a block blob in one piece. Its MD5 becomes the blob's, unless n
// has one. Whatever blob there was of that name, of whatever kind, is
// overwritten, and its uncommitted blocks are gone. The upload is the catalog's
// from now on.
func (c *Catalog) PutBlob(ctx context.Context, ref Ref, n New, u *Upload, a Access) (made *Item, err error) {
	defer func() { u.finish(err) }()
	if err := c.checkWrite(ref); err != nil {
		return nil, err
	}
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()

	if n.ContentMD5 == nil {
		n.ContentMD5 = u.MD5[:]
	}
	made = b.make(Block, n)
	made.Size = u.Size
	rows := b.dropBlocks()
	if u.Size > 0 {
		made.manifest = c.nextManifest()
		rows = append(rows, u.addChunk(), addPiece(made.manifest, piece{size: u.Size, chunk: u.chunk.ID}))
	}
	rows = b.replace(rows, made)
	problem := cmp.Or(b.checkCreate(a.If), u.failed)

	if err := c.commit(ctx, b.change(a, problem, rows...)); err != nil {
		return nil, err
	}
	return made, nil
}

// checkWrite refuses to write to snapshots, names that no blob can have, and
// anything while the disk is full.
func (c *Catalog) checkWrite(ref Ref) error {
	if err := c.checkSpace(); err != nil {
		return err
	}
	return checkWritable(ref)
}

// checkWritable is checkWrite for what needs no space.
func checkWritable(ref Ref) error {
	if ref.IsSnapshot() {
		return azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot never changes")
	}
	return CheckBlob(ref.Blob)
}

// make returns a new version of the blob. It has a time of its own, and that of
// creation from the blob that it overwrites: as in Azure, a blob is created once,
// however often it is written.
func (b *blob) make(kind Kind, n New) *Item {
	i := &Item{Ref: b.ref.base(), Kind: kind, Committed: true, Ticks: b.now()}
	i.Created = i.Ticks
	i.Details = Details{Headers: n.Headers, Metadata: n.Metadata, Tags: n.Tags, Tier: n.Tier}
	if n.Tier != "" {
		i.TierChanged = i.Ticks
	}
	if b.item != nil {
		i.LastSnapshot = b.item.LastSnapshot
	}
	if b.exists() {
		i.Created = b.item.Created
	}
	return i
}

// replace appends the rows that write a new version over the one there is, if
// any, and drop that one's manifest. Uncommitted blocks are the caller's business.
func (b *blob) replace(rows []engine.Statement, made *Item) []engine.Statement {
	rows = append(rows, made.put(b.container.id))
	rows = append(rows, b.item.drop(b.container.id)...)
	return append(rows, b.retag(made.Tags)...)
}

// nextManifest gives out a number for a new manifest.
func (c *Catalog) nextManifest() int64 { return c.manifests.Add(1) }

// PutEmpty makes an append blob, or a page blob of size zeros.
func (c *Catalog) PutEmpty(ctx context.Context, ref Ref, kind Kind, size, sequence int64, n New, a Access) (*Item, error) {
	if err := c.checkWrite(ref); err != nil {
		return nil, err
	}
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	made := b.make(kind, n)
	made.Size, made.Sequence = size, sequence
	problem := cmp.Or(b.checkCreate(a.If), checkEmpty(kind, size, sequence))
	if err := c.commit(ctx, b.change(a, problem, b.replace(b.dropBlocks(), made)...)); err != nil {
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

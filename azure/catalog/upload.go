package catalog

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// Upload is content that was received and is not yet part of a blob. It belongs
// to the catalog once it is given to PutBlob, StageBlock, AppendBlock or PutPages,
// whatever they answer; otherwise the caller discards it.
type Upload struct {
	MD5  [16]byte
	CRC  uint64 // Azure's CRC64
	Size int64

	store  *content.Store
	chunk  content.Chunk
	failed error // why there is no chunk
}

// Discard deletes the content. Nil is fine.
func (u *Upload) Discard() {
	if u != nil {
		u.store.Discard(u.chunk)
	}
}

// addChunk writes the chunk's row, with one reference to it.
func (u *Upload) addChunk() engine.Statement {
	var data any
	if u.chunk.Inline != nil {
		data = u.chunk.Inline
	}
	return statement(sqlAddChunk, u.chunk.ID, u.chunk.Size, int64(u.chunk.CRC), int64(1), data)
}

// finish discards the content unless it was committed. Whether an unknown commit
// is durable nobody knows, so the file stays: if it has no row after the next
// start, it is swept then. Nil is fine.
func (u *Upload) finish(err error) {
	if err != nil && !errors.Is(err, leasehold.ErrUnknown) {
		u.Discard()
	}
}

// Accept makes an upload of bytes in memory. If they cannot be written, the
// operation that gets the upload fails.
func (c *Catalog) Accept(body []byte) *Upload {
	size := int64(len(body))
	chunk, sums, err := c.content.Write(bytes.NewReader(body), size, size)
	u := newUpload(c.content, chunk, sums)
	u.failed = storageError(err)
	return u
}

func newUpload(store *content.Store, chunk content.Chunk, sums content.Sums) *Upload {
	return &Upload{MD5: sums.MD5, CRC: sums.CRC, Size: chunk.Size, store: store, chunk: chunk}
}

// Receive streams a body into the content store: size bytes, or any number up
// to limit if size is -1. It first checks what would refuse the write, so that no
// client uploads a gigabyte for nothing; the write itself decides.
func (c *Catalog) Receive(ctx context.Context, ref Ref, a Access, body io.Reader, size, limit int64) (*Upload, error) {
	if size > limit {
		return nil, tooLarge(limit)
	}
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	if size < 0 || size > content.InlineLimit { // less is read sooner than looked up
		if err := c.checkEarly(ctx, ref, a); err != nil {
			return nil, err
		}
	}
	chunk, sums, err := c.content.Write(&cancelled{ctx, body}, size, limit)
	if err != nil {
		return nil, uploadError(ctx, err, size, limit)
	}
	return newUpload(c.content, chunk, sums), nil
}

// checkEarly refuses what the write would refuse as things stand.
func (c *Catalog) checkEarly(ctx context.Context, ref Ref, a Access) error {
	b, err := c.shareBlob(ctx, ref)
	if err != nil {
		return err
	}
	defer b.unlock()
	var refusal error
	rule := guard(ref, a, machine.Write)
	err = c.engine.Look(ctx, []string{ref.base().Resource()}, func(_ int, v engine.View) { _, refusal = rule(v) })
	if err != nil || refusal != nil {
		return errors.Join(err, refusal)
	}
	err = b.checkCreate(a.If)
	if azerr.HasCode(err, azerr.BlobAlreadyExists) && b.item.Kind != Block {
		return nil // it depends on the operation
	}
	return err
}

// uploadError says what was wrong with a body.
func uploadError(ctx context.Context, err error, size, limit int64) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, content.ErrTooLarge) && size < 0:
		return tooLarge(limit)
	case errors.Is(err, content.ErrTooLarge):
		return azerr.New(azerr.InvalidInput).With("the body has more than the %d bytes that were announced", size)
	case errors.Is(err, content.ErrShort), errors.Is(err, content.ErrSource) && errors.Is(err, io.ErrUnexpectedEOF):
		return azerr.New(azerr.InvalidInput).With("the body is truncated: it has fewer bytes than were announced")
	}
	return storageError(err)
}

// checkSpace refuses what needs space while the disk is full. Leases, reads and
// deletes need none.
func (c *Catalog) checkSpace() error { return storageError(c.content.CheckSpace()) }

// storageError gives a full disk Azure's code; other errors stay as they are.
func storageError(err error) error {
	if errors.Is(err, content.ErrFull) {
		return azerr.New(azerr.InsufficientStorage)
	}
	return err
}

func tooLarge(limit int64) error {
	return azerr.New(azerr.RequestBodyTooLarge).With("the body has more than the %d bytes that this operation takes", limit)
}

// cancelled reads until the context ends.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

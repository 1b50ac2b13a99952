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

// Upload is content that was received and is not yet part of a blob. PutBlob,
// StageBlock, AppendBlock and PutPages take it over, whatever they answer;
// whoever does not hand it on discards it.
type Upload struct {
	MD5  [16]byte
	CRC  uint64 // Azure's CRC64
	Size int64

	store  *content.Store
	chunk  content.Chunk
	failed error // why there is no chunk
}

// Discard lets the content go. Nil is fine.
func (u *Upload) Discard() {
	if u != nil {
		u.store.Discard(u.chunk)
	}
}

// problem is what speaks against taking the upload over.
func (u *Upload) problem() error { return u.failed }

// keep makes the chunk's row, with so many references to it.
func (u *Upload) keep(refs int64) engine.Statement {
	var data any
	if u.chunk.Inline != nil {
		data = u.chunk.Inline
	}
	return do(`INSERT INTO blob_chunks (id, size, crc, refs, data) VALUES (?, ?, ?, ?, ?)`,
		u.chunk.ID, u.chunk.Size, int64(u.chunk.CRC), refs, data)
}

// settle tells the upload what became of the commit that would have kept it.
// Nobody knows whether an unknown one is durable, so the file stays: if it has
// no row after the next start, it is swept then.
func (u *Upload) settle(err error) {
	if err != nil && !errors.Is(err, leasehold.ErrUnknown) {
		u.Discard()
	}
}

// Accept makes an upload of bytes at hand. If they could not be written,
// whoever takes the upload over says so.
func (c *Catalog) Accept(body []byte) *Upload {
	size := int64(len(body))
	chunk, sums, err := c.content.Write(bytes.NewReader(body), size, size)
	u := newUpload(c.content, chunk, sums)
	u.failed = explainFull(err)
	return u
}

func newUpload(store *content.Store, chunk content.Chunk, sums content.Sums) *Upload {
	return &Upload{MD5: sums.MD5, CRC: sums.CRC, Size: chunk.Size, store: store, chunk: chunk}
}

// Receive streams a body into the content store: size bytes, or any number up
// to limit if size is -1. It first looks at what would refuse the write anyhow,
// so that nobody uploads a gigabyte in vain; the write itself decides.
func (c *Catalog) Receive(ctx context.Context, ref Ref, a Access, body io.Reader, size, limit int64) (*Upload, error) {
	if size > limit {
		return nil, tooLarge(limit)
	}
	if err := c.room(); err != nil {
		return nil, err
	}
	if size < 0 || size > content.InlineLimit { // less is taken in sooner than looked up
		if err := c.foresee(ctx, ref, a); err != nil {
			return nil, err
		}
	}
	chunk, sums, err := c.content.Write(&cancelled{ctx, body}, size, limit)
	if err != nil {
		return nil, explainUpload(ctx, err, size, limit)
	}
	return newUpload(c.content, chunk, sums), nil
}

// foresee refuses what the write will be refused for, as things stand.
func (c *Catalog) foresee(ctx context.Context, ref Ref, a Access) error {
	return c.join(ctx, ref, func(e *edit) error {
		var refusal error
		err := c.engine.Look(ctx, []string{ref.base().Resource()}, func(_ int, v engine.View) {
			_, refusal = a.guard(v, ref, machine.Write)
		})
		if err != nil || refusal != nil {
			return errors.Join(err, refusal)
		}
		err = e.judge(a)
		if err == errExists { //nolint:errorlint // one value, compared as NotModified does
			if e.item.Kind == Block {
				return azerr.New(azerr.BlobAlreadyExists)
			}
			return nil // it depends on the operation
		}
		return err
	})
}

// explainUpload says what was wrong with a body.
func explainUpload(ctx context.Context, err error, size, limit int64) error {
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
	return explainFull(err)
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

package catalog

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/content"
)

// Head returns a blob or a snapshot. Of a base blob it shows the lease.
func (c *Catalog) Head(ctx context.Context, ref Ref, a Access) (*Item, error) {
	var item Item
	err := c.shared(ctx, ref, func(s subject) error {
		item = *s.item
		return c.admit(ctx, ref, a, &item)
	})
	if err != nil {
		return nil, err
	}
	return &item, nil
}

// admit lets a reader of the item pass, or not. A snapshot has no lease: an id
// is a condition on its base's.
func (c *Catalog) admit(ctx context.Context, ref Ref, a Access, item *Item) error {
	err := c.read(ctx, ref.base(), a, item.Ticks, &item.Lease)
	if err == nil {
		err = a.If.judgeTags(item.Tags)
	}
	if ref.IsSnapshot() {
		item.Lease = LeaseView{}
	}
	return err
}

// Content is a blob or a snapshot whose bytes can be read. It stays what it was
// when it was opened, whatever becomes of the blob, until it is closed.
type Content struct {
	*Item
	catalog *Catalog
	once    sync.Once
}

// Get opens a blob or a snapshot for reading. The caller closes it.
func (c *Catalog) Get(ctx context.Context, ref Ref, a Access) (*Content, error) {
	k := &Content{catalog: c}
	err := c.shared(ctx, ref, func(s subject) error {
		own := *s.item
		k.Item = &own
		if err := c.admit(ctx, ref, a, k.Item); err != nil {
			return err
		}
		c.pins.take(k.manifest)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Close lets the bytes go. Further calls do nothing.
func (k *Content) Close() {
	k.once.Do(func() {
		if k.catalog.pins.release(k.manifest) {
			k.catalog.wake()
		}
	})
}

// readAhead is how many pieces are looked up at once. Small chunks come along,
// so it bounds memory too: 2 MiB.
const readAhead = 32

// WriteTo writes n bytes of the content from offset on. Memory does not grow
// with n. Chunks that are read as a whole are checked: of a damaged one the
// last bytes are withheld, and the error is content.ErrDamaged.
func (k *Content) WriteTo(ctx context.Context, w io.Writer, offset, n int64) error {
	if offset < 0 || n < 0 || offset > k.Size || n > k.Size-offset {
		return azerr.New(azerr.InvalidRange)
	}
	pool := &buffers
	if n <= smallRead {
		pool = &smallBuffers
	}
	buf := pool.Get().(*[]byte)
	defer pool.Put(buf)
	o := &outlet{ctx: ctx, w: w, at: offset, end: offset + n, buf: *buf, content: k}
	for o.at < o.end {
		run, err := k.catalog.stretches(ctx, k.manifest, o.at, o.end, readAhead)
		if err == nil {
			err = o.writeAll(run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// smallRead is what needs no large buffer: many small reads at a time would else
// take more memory for buffers than for all the rest.
const smallRead = 8 << 10

var (
	buffers      = sync.Pool{New: func() any { return newBuffer(128 << 10) }}
	smallBuffers = sync.Pool{New: func() any { return newBuffer(smallRead) }}
)

func newBuffer(size int) *[]byte { b := make([]byte, size); return &b }

// outlet is a range of bytes on its way out.
type outlet struct {
	ctx     context.Context
	w       io.Writer
	at, end int64
	buf     []byte
	content *Content
}

// writeAll writes pieces, and zeros where there is none. Few pieces mean that
// no more come after them.
func (o *outlet) writeAll(run []stretch) error {
	for _, s := range run {
		if err := o.zeros(min(s.start, o.end)); err != nil {
			return err
		}
		if err := o.piece(s); err != nil {
			return err
		}
	}
	if len(run) < readAhead {
		return o.zeros(o.end)
	}
	return nil
}

// zeros fills a gap up to before to. Only page blobs have gaps, and what was
// made of them.
func (o *outlet) zeros(to int64) error {
	if o.at >= to {
		return nil
	}
	if o.content.Kind != Page && !o.content.Sparse {
		return fmt.Errorf("blob %s: no piece has the bytes from %d on: %w", o.content.path(), o.at, content.ErrDamaged)
	}
	return o.copy(zero{}, to-o.at)
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// piece writes what the range has of a piece.
func (o *outlet) piece(s stretch) error {
	from := o.at - s.start
	n := min(s.size, o.end-s.start) - from
	if n <= 0 {
		return nil // a piece before a gap
	}
	r, err := o.content.catalog.content.Reader(s.Chunk, s.at+from, n)
	if err != nil {
		return err
	}
	defer r.Close()
	return o.copy(r, n)
}

// copy writes n bytes of r. It stops when the context ends.
func (o *outlet) copy(r io.Reader, n int64) error {
	for n > 0 {
		if o.ctx.Err() != nil {
			return context.Cause(o.ctx)
		}
		m, err := r.Read(o.buf[:min(n, int64(len(o.buf)))])
		if m == 0 && err != nil {
			return err
		}
		if _, err := o.w.Write(o.buf[:m]); err != nil {
			return err
		}
		o.at += int64(m)
		n -= int64(m)
	}
	return nil
}

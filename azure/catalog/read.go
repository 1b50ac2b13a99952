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
	b, err := c.readBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	return b.readItem(ctx, a)
}

// readItem returns a copy of the item, with its lease, if the reader may have it.
func (b *blob) readItem(ctx context.Context, a Access) (*Item, error) {
	item := *b.item
	if err := b.checkReadItem(ctx, a, item.Ticks, &item); err != nil {
		return nil, err
	}
	return &item, nil
}

// checkReadItem is checkRead for an item, and fills in its lease. A snapshot has
// none: an id is a condition on its base's.
func (b *blob) checkReadItem(ctx context.Context, a Access, t Ticks, item *Item) (err error) {
	item.Lease, err = b.checkRead(ctx, b.ref.base(), a, t)
	if err == nil {
		err = a.If.checkTags(item.Tags)
	}
	if b.ref.IsSnapshot() {
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
	b, err := c.readBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	item, err := b.readItem(ctx, a)
	if err != nil {
		return nil, err
	}
	c.pins.add(item.manifest)
	return &Content{Item: item, catalog: c}, nil
}

// Close ends the reading. Further calls do nothing.
func (k *Content) Close() {
	k.once.Do(func() {
		if k.catalog.pins.remove(k.manifest) {
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
	r := &rangeWriter{ctx: ctx, w: w, at: offset, end: offset + n, buf: *buf, content: k}
	for r.at < r.end {
		found, err := k.catalog.contentPieces(ctx, k.manifest, r.at, r.end, readAhead)
		if err == nil {
			err = r.writeAll(found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// smallRead is what needs no large buffer: many small reads at a time would else
// need more memory for buffers than for all the rest.
const smallRead = 8 << 10

var (
	buffers      = sync.Pool{New: func() any { return newBuffer(128 << 10) }}
	smallBuffers = sync.Pool{New: func() any { return newBuffer(smallRead) }}
)

func newBuffer(size int) *[]byte { b := make([]byte, size); return &b }

// rangeWriter writes a range of a blob's bytes.
type rangeWriter struct {
	ctx     context.Context
	w       io.Writer
	at, end int64
	buf     []byte
	content *Content
}

// writeAll writes pieces, and zeros where there is none. Few pieces mean that
// no more come after them.
func (r *rangeWriter) writeAll(pieces []contentPiece) error {
	for _, s := range pieces {
		if err := r.zeros(min(s.start, r.end)); err != nil {
			return err
		}
		if err := r.piece(s); err != nil {
			return err
		}
	}
	if len(pieces) < readAhead {
		return r.zeros(r.end)
	}
	return nil
}

// zeros fills a gap up to before to. Only page blobs have gaps, and what was
// made of them.
func (r *rangeWriter) zeros(to int64) error {
	if r.at >= to {
		return nil
	}
	if r.content.Kind != Page && !r.content.Sparse {
		return fmt.Errorf("blob %s: no piece has the bytes from %d on: %w", r.content.path(), r.at, content.ErrDamaged)
	}
	return r.copy(zero{}, to-r.at)
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// piece writes what the range has of a piece.
func (r *rangeWriter) piece(s contentPiece) error {
	from := r.at - s.start
	n := min(s.size, r.end-s.start) - from
	if n <= 0 {
		return nil // a piece before a gap
	}
	chunk, err := r.content.catalog.content.Reader(s.Chunk, s.at+from, n)
	if err != nil {
		return err
	}
	defer chunk.Close()
	return r.copy(chunk, n)
}

// copy writes n bytes of a source. It stops when the context ends.
func (r *rangeWriter) copy(source io.Reader, n int64) error {
	for n > 0 {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		m, err := source.Read(r.buf[:min(n, int64(len(r.buf)))])
		if m == 0 && err != nil {
			return err
		}
		if _, err := r.w.Write(r.buf[:m]); err != nil {
			return err
		}
		r.at += int64(m)
		n -= int64(m)
	}
	return nil
}

// pins keep manifests that are being read from being collected.
type pins struct {
	mu   sync.Mutex
	held map[int64]*pin
}

type pin struct {
	readers int
	awaited bool // the collector waits for it
}

// add pins a manifest. The caller holds the blob's lock, shared or alone, and has
// read an item with that manifest under it. So a collector that first sees that no
// item has the manifest any more, and then looks for pins, misses none.
func (p *pins) add(manifest int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[int64]*pin{}
	}
	if p.held[manifest] == nil {
		p.held[manifest] = new(pin)
	}
	p.held[manifest].readers++
}

// remove ends one pin. It reports whether the collector waits for it.
func (p *pins) remove(manifest int64) (awaited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.held[manifest]
	if k.readers--; k.readers > 0 {
		return false
	}
	delete(p.held, manifest)
	return k.awaited
}

// pinned reports whether the manifest is being read.
func (p *pins) pinned(manifest int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[manifest] != nil
}

// await is pinned for the collector: the last reader wakes it.
func (p *pins) await(manifest int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.held[manifest]
	if k == nil {
		return false
	}
	k.awaited = true
	return true
}

package catalog

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
)

// checkBatch is how many names or chunks are looked up at once.
const checkBatch = 500

// checkBlobs looks at every blob with its snapshots.
func (k *check) checkBlobs(ctx context.Context) error {
	names := map[int64]Ref{}
	err := k.engine.Query(ctx, sqlLiveContainers, nil, func(r engine.Columns) error {
		names[r.Int64(0)] = Ref{Account: r.Text(1), Container: r.Text(2)}
		return nil
	})
	last := finding{a: -1}
	for err == nil {
		var found []finding
		found, err = k.find(ctx, sqlNextNames, last.a, last.name, int64(checkBatch))
		if err != nil || len(found) == 0 {
			break
		}
		for _, f := range found {
			if ref, ok := names[f.a]; ok && err == nil {
				ref.Blob = f.name
				err = k.checkBlob(ctx, ref)
			}
		}
		last = found[len(found)-1]
	}
	return err
}

// checkBlob looks at one blob with its snapshots.
func (k *check) checkBlob(ctx context.Context, ref Ref) error {
	wrongTags, err := k.checkItems(ctx, ref)
	switch {
	case azerr.HasCode(err, azerr.ContainerNotFound):
		return nil // deleted meanwhile
	case err != nil || !wrongTags:
		return err
	}
	return k.repairTags(ctx, ref)
}

// checkItems looks at the items of one name, and reports whether the blob is
// found by other tags than it has.
func (k *check) checkItems(ctx context.Context, ref Ref) (wrongTags bool, _ error) {
	path, container := ref.paths()
	defer k.containerLocks.share(container).unlock()
	row, err := k.loadContainer(ctx, ref, container)
	if err != nil {
		return false, err
	}
	defer k.blobLocks.share(path).unlock()
	b := &blob{Catalog: k.Catalog, ref: ref, container: row}
	items, err := k.loadItems(ctx, sqlItemsOfName, b, func(bad error) error { k.note(false, "%v", bad); return nil })
	if err != nil {
		return false, err
	}
	extents := map[int64]extent{}
	for _, item := range items {
		if err := k.checkItem(ctx, item, extents); err != nil {
			return false, err
		}
		if !item.IsSnapshot() {
			b.item = item
		}
	}
	return b.tagsDiffer(ctx)
}

// checkItem compares an item with its pieces.
func (k *check) checkItem(ctx context.Context, i *Item, extents map[int64]extent) error {
	x, known := extents[i.manifest]
	if !known {
		var err error
		if x, err = k.extent(ctx, i.manifest); err != nil {
			return err
		}
		extents[i.manifest] = x
	}
	name := i.path()
	if i.IsSnapshot() {
		name += "?snapshot=" + i.Snapshot.String()
	}
	switch {
	case i.Kind < Block || i.Kind > Page:
		k.note(false, "%s is of kind %d, which does not exist", name, int64(i.Kind))
	case !i.Committed && (i.IsSnapshot() || i.manifest != 0 || i.Size != 0):
		k.note(false, "%s has content but is not committed", name)
	case i.Expires != nil && !i.IsSnapshot():
		k.note(false, "%s expires, but is no snapshot", name)
	case x.overlap:
		k.note(false, "%s has pieces that overlap, or reach beyond their chunk", name)
	case i.Kind == Block && !i.Sparse && x.solid != i.Size, i.Kind == Append && x.solid < i.Size:
		k.note(false, "%s has %d bytes, but its pieces have %d", name, i.Size, x.solid)
	}
	return nil
}

// extent is what the pieces of a manifest cover.
type extent struct {
	solid   int64 // how far from the beginning there is no gap
	overlap bool  // or a piece that is empty or not inside of its chunk
}

func (c *Catalog) extent(ctx context.Context, manifest int64) (extent, error) {
	var x extent
	var end int64
	if manifest == 0 {
		return x, nil
	}
	err := c.engine.Query(ctx, sqlPieceBounds, []any{manifest}, func(r engine.Columns) error {
		start, size, at, chunk := r.Int64(0), r.Int64(1), r.Int64(2), r.Int64(3)
		if start < end || size <= 0 || at < 0 || at+size > chunk {
			x.overlap = true
		}
		if start == x.solid {
			x.solid = start + size
		}
		end = start + size
		return nil
	})
	return x, err
}

// tagsDiffer reports whether the blob is found by other tags than it has.
func (b *blob) tagsDiffer(ctx context.Context) (bool, error) {
	if !b.exists() {
		return false, nil
	}
	listed := map[string]string{}
	n := 0
	err := b.engine.Query(ctx, sqlTagsOfBlob, []any{b.container.id, b.ref.Blob}, func(r engine.Columns) error {
		listed[r.Text(0)] = r.Text(1)
		n++
		return nil
	})
	return n != len(listed) || !maps.Equal(listed, b.item.Tags), err
}

func (k *check) repairTags(ctx context.Context, ref Ref) error {
	b, err := k.lockBlob(ctx, ref)
	if err != nil {
		return err
	}
	defer b.unlock()
	if !b.exists() {
		return nil
	}
	rows := append([]engine.Statement{deleteTags(b.container.id, ref.Blob)}, b.retag(b.item.Tags)...)
	return k.found(ctx, rows, "%s is not found by the tags that it has", ref.path())
}

// chunkRead is how many chunks are looked up at once; small ones come with their
// bytes, so it bounds memory too.
const chunkRead = 32

// checkChunks reads every chunk.
func (k *check) checkChunks(ctx context.Context) error {
	for last := int64(-1); ; {
		var chunks []content.Chunk
		err := k.engine.Query(ctx, sqlNextChunks, []any{last, int64(chunkRead)}, func(r engine.Columns) error {
			chunk := content.Chunk{ID: r.Int64(0), Size: r.Int64(1), CRC: uint64(r.Int64(2))}
			if !r.IsNull(3) {
				chunk.Inline = r.Bytes(3)
			}
			chunks = append(chunks, chunk)
			return nil
		})
		if err != nil || len(chunks) == 0 {
			return err
		}
		for _, chunk := range chunks {
			if err := k.checkChunk(ctx, chunk); err != nil {
				return err
			}
		}
		last = chunks[len(chunks)-1].ID
	}
}

func (k *check) checkChunk(ctx context.Context, chunk content.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bad := k.content.Check(chunk)
	if bad == nil {
		return nil
	}
	if !errors.Is(bad, content.ErrDamaged) {
		return bad
	}
	there, err := k.queryOne(ctx, sqlChunkInUse, []any{chunk.ID}, func(engine.Columns) {})
	if err != nil || !there {
		return err // collected meanwhile
	}
	whose, err := k.users(ctx, chunk.ID)
	if err == nil {
		k.note(false, "%v; it belongs to %s", bad, whose)
	}
	return err
}

// maxUsers is how many of those who have a damaged chunk are named.
const maxUsers = 5

// users names items that have a chunk.
func (k *check) users(ctx context.Context, chunk int64) (string, error) {
	var names []string
	err := k.engine.Query(ctx, sqlUsersOfChunk, []any{chunk, int64(maxUsers)}, func(r engine.Columns) error {
		ref := Ref{Account: r.Text(0), Container: r.Text(1), Blob: r.Text(2), Snapshot: At(Ticks(r.Int64(3)))}
		name := ref.path()
		if ref.IsSnapshot() {
			name += "?snapshot=" + ref.Snapshot.String()
		}
		names = append(names, name)
		return nil
	})
	if len(names) == 0 {
		names = []string{"no blob, or an uncommitted block"}
	}
	return strings.Join(names, ", "), err
}

// checkFiles looks for files that no row knows.
func (k *check) checkFiles(ctx context.Context) error {
	known := func(ids []int64) (map[int64]bool, error) { return k.knownChunks(ctx, ids) }
	return k.content.Orphans(ctx, known, func(id int64) error {
		if k.goneMeanwhile(id) {
			return nil
		}
		k.note(k.repair, "file %d belongs to no chunk", id)
		if k.repair {
			return k.content.Remove(id)
		}
		return nil
	})
}

// goneMeanwhile reports whether the collector has deleted a file whose row it
// deleted a moment ago.
func (k *check) goneMeanwhile(id int64) bool {
	k.collecting.Lock()
	defer k.collecting.Unlock()
	r, err := k.content.Reader(content.Chunk{ID: id, Size: 1}, 0, 0)
	if err == nil {
		_ = r.Close()
	}
	return errors.Is(err, fs.ErrNotExist)
}

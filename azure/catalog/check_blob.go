package catalog

import (
	"context"
	"maps"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// checkBite is how many names or chunks are looked up at once.
const checkBite = 500

// checkBlobs looks at every blob with its snapshots.
func (k *check) checkBlobs(ctx context.Context) error {
	names := map[int64]Ref{}
	err := k.engine.Query(ctx, `SELECT id, account, name FROM blob_containers WHERE NOT deleting`, nil, func(r engine.Columns) error {
		names[r.Int64(0)] = Ref{Account: r.Text(1), Container: r.Text(2)}
		return nil
	})
	last := finding{a: -1}
	for err == nil {
		var found []finding
		found, err = k.find(ctx, `SELECT DISTINCT container, 0, name FROM blob_items WHERE (container, name) > (?, ?)
			ORDER BY container, name LIMIT ? + 0`, last.a, last.name, int64(checkBite))
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
	case isFault(err, azerr.ContainerNotFound):
		return nil // deleted meanwhile
	case err != nil || !wrongTags:
		return err
	}
	return k.repairTags(ctx, ref)
}

// checkItems looks at the items of one name, and reports whether the blob is
// found by other tags than it has.
func (k *check) checkItems(ctx context.Context, ref Ref) (wrongTags bool, _ error) {
	defer k.containerLocks.share(ref.container().path())()
	row, err := k.container(ctx, ref)
	if err != nil {
		return false, err
	}
	defer k.blobLocks.share(ref.path())()
	items, err := k.items(ctx, row, ref)
	if err != nil {
		return false, err
	}
	e := &edit{Catalog: k.Catalog, ref: ref, container: row}
	sizes := map[int64]extent{}
	for _, item := range items {
		if err := k.checkItem(ctx, item, sizes); err != nil {
			return false, err
		}
		if !item.IsSnapshot() {
			e.item = item
		}
	}
	return e.tagsDiffer(ctx)
}

// items returns the items of one name that can be read.
func (k *check) items(ctx context.Context, row *Container, ref Ref) ([]*Item, error) {
	const sql = `SELECT ` + itemColumns + ` FROM blob_items WHERE container = ? AND name = ? ORDER BY snapshot`
	var items []*Item
	err := k.engine.Query(ctx, sql, []any{row.id, ref.Blob}, func(r engine.Columns) error {
		item, err := scanItem(ref, r)
		if err != nil {
			k.note(false, "%v", err)
			return nil
		}
		items = append(items, item)
		return nil
	})
	return items, err
}

// checkItem compares an item with its pieces.
func (k *check) checkItem(ctx context.Context, i *Item, sizes map[int64]extent) error {
	x, known := sizes[i.manifest]
	if !known {
		var err error
		if x, err = k.extent(ctx, i.manifest); err != nil {
			return err
		}
		sizes[i.manifest] = x
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
	const sql = `SELECT p.start, p.size, p.at, coalesce(c.size, p.at + p.size) FROM blob_pieces p LEFT JOIN blob_chunks c ON c.id = p.chunk
		WHERE p.manifest = ? ORDER BY p.start`
	err := c.engine.Query(ctx, sql, []any{manifest}, func(r engine.Columns) error {
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
func (e *edit) tagsDiffer(ctx context.Context) (bool, error) {
	if !e.exists() {
		return false, nil
	}
	listed := map[string]string{}
	const sql = `SELECT key, value FROM blob_tags WHERE container = ? AND name = ?`
	n := 0
	err := e.engine.Query(ctx, sql, []any{e.container.id, e.ref.Blob}, func(r engine.Columns) error {
		listed[r.Text(0)] = r.Text(1)
		n++
		return nil
	})
	return n != len(listed) || !maps.Equal(listed, e.item.Tags), err
}

func (k *check) repairTags(ctx context.Context, ref Ref) error {
	return k.edit(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return nil
		}
		statements := append([]engine.Statement{untag(e.container.id, ref.Blob)}, e.retag(e.item.Tags)...)
		return k.found(ctx, statements, "%s is not found by the tags that it has", ref.path())
	})
}

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
)

// itemColumns is how many columns scanItem reads.
const itemColumns = 10

// scanItem reads a row of blob_items. The statements in sql/ that it is for name
// the columns in its order.
func scanItem(container Ref, r engine.Columns) (*Item, error) {
	i := &Item{Ref: container.container()}
	i.Blob, i.Snapshot = r.Text(0), At(Ticks(r.Int64(1)))
	i.Kind, i.Committed = Kind(r.Int64(2)), r.Int64(3) != 0
	i.Ticks, i.Created = Ticks(r.Int64(4)), Ticks(r.Int64(5))
	i.Size, i.manifest = r.Int64(6), r.Int64(7)
	if !r.IsNull(8) {
		i.Expires = new(Ticks(r.Int64(8)))
	}
	if err := json.Unmarshal(r.Bytes(9), &i.Details); err != nil {
		return nil, fmt.Errorf("blob %s: %w", i.path(), err)
	}
	return i, nil
}

// loadItem returns the item's row, or nil if there is none; the blob's lock is
// held.
func (c *Catalog) loadItem(ctx context.Context, container *Container, ref Ref) (*Item, error) {
	var i *Item
	var bad error
	_, err := c.queryOne(ctx, sqlItem, []any{container.id, ref.Blob, int64(ref.Snapshot.Ticks())}, func(r engine.Columns) {
		if i, bad = scanItem(ref, r); bad == nil {
			i.staged = r.Int64(itemColumns) != 0
		}
	})
	return i, errors.Join(err, bad)
}

// loadItems returns the rows that a query of items of one name finds.
func (c *Catalog) loadItems(ctx context.Context, sql string, b *blob, bad func(error) error) ([]*Item, error) {
	var items []*Item
	err := c.engine.Query(ctx, sql, []any{b.container.id, b.ref.Blob}, func(r engine.Columns) error {
		item, err := scanItem(b.ref, r)
		if err != nil {
			return bad(err)
		}
		items = append(items, item)
		return nil
	})
	return items, err
}

// put writes the item's row over the one there is.
func (i *Item) put(container int64) engine.Statement {
	var expires any
	if i.Expires != nil {
		expires = int64(*i.Expires)
	}
	return statement(sqlPutItem, container, i.Blob, int64(i.Snapshot.Ticks()), int64(i.Kind), i.Committed, int64(i.Ticks), int64(i.Created),
		i.Size, i.manifest, expires, encode(i.Details))
}

// addStaged writes the row of a blob of uncommitted blocks only, unless the blob
// has one.
func addStaged(container int64, name string, now Ticks) engine.Statement {
	return statement(sqlAddItem, container, name, int64(Base), int64(Block), false, int64(now), int64(now), int64(0), int64(0), encode(Details{}))
}

// remove deletes the item's row.
func (i *Item) remove(container int64) engine.Statement {
	return statement(sqlDeleteItem, container, i.Blob, int64(i.Snapshot.Ticks()))
}

// drop notes that the item's manifest is to be collected, unless another item of
// that name has it.
func (i *Item) drop(container int64) []engine.Statement {
	if i == nil || i.manifest == 0 {
		return nil
	}
	return []engine.Statement{statement(sqlDropManifest, i.manifest, container, i.Blob)}
}

// retag keeps the tags by which a base blob is found in step with its own.
func (b *blob) retag(tags map[string]string) []engine.Statement {
	var rows []engine.Statement
	if b.item != nil && len(b.item.Tags) > 0 {
		rows = append(rows, deleteTags(b.container.id, b.ref.Blob))
	}
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		rows = append(rows, statement(sqlAddTag, b.container.id, key, tags[key], b.ref.Blob))
	}
	return rows
}

func deleteTags(container int64, name string) engine.Statement {
	return statement(sqlDeleteTags, container, name)
}

// encode writes a value of strings and numbers as JSON.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return b
}

// itemCache keeps rows of base blobs, so that lease operations and reads skip
// SQL.
//
// Who may change a blob locks it alone, and forgets it here on entering
// (lockPath); while that lock is held nobody can put it back.
type itemCache struct {
	mu         sync.Mutex
	young, old map[string]knownItem // by path
}

type knownItem struct {
	container int64 // a new container of the same name has another number
	item      *Item
}

// generation is how many items are kept before those that nobody has asked for
// since the last such moment are forgotten.
const generation = 1000

// cachedItem returns a blob or snapshot that exists, and has that path; the
// blob's lock is held. Nobody may change what it returns.
func (c *Catalog) cachedItem(ctx context.Context, container *Container, ref Ref, path string) (*Item, error) {
	if !ref.IsSnapshot() {
		if known := c.items.get(path, container.id); known != nil {
			return known, nil
		}
	}
	item, err := c.loadItem(ctx, container, ref)
	switch {
	case err != nil:
		return nil, err
	case item == nil || !item.Committed:
		return nil, azerr.New(azerr.BlobNotFound)
	case !ref.IsSnapshot():
		c.items.put(path, container.id, item)
	}
	return item, nil
}

func (k *itemCache) get(path string, container int64) *Item {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.young[path]
	if !ok {
		if found, ok = k.old[path]; ok {
			k.add(path, found)
		}
	}
	if !ok || found.container != container {
		return nil
	}
	return found.item
}

func (k *itemCache) put(path string, container int64, i *Item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.add(path, knownItem{container, i})
}

func (k *itemCache) add(path string, c knownItem) {
	if k.young == nil || len(k.young) >= generation {
		k.young, k.old = map[string]knownItem{}, k.young
	}
	k.young[path] = c
}

func (k *itemCache) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.young, path)
	delete(k.old, path)
}

// piece is a part of an item's content.
type piece struct {
	start, size int64 // where in the blob
	chunk, at   int64 // where its bytes are
	block       string
}

// addPieces writes the pieces of a new manifest. However many they are, it is one
// statement.
func addPieces(manifest int64, pieces []piece) engine.Statement {
	if len(pieces) == 1 {
		return addPiece(manifest, pieces[0])
	}
	rows := make([][5]any, len(pieces))
	for i, p := range pieces {
		rows[i] = [5]any{p.start, p.size, p.chunk, p.at, nil}
		if p.block != "" {
			rows[i][4] = p.block
		}
	}
	return statement(sqlAddPieces, manifest, encodeText(rows))
}

// addPiece is addPieces for the most frequent case.
func addPiece(manifest int64, p piece) engine.Statement {
	var block any
	if p.block != "" {
		block = p.block
	}
	return statement(sqlAddPiece, manifest, p.start, p.size, p.chunk, p.at, block)
}

// changeRefs changes the number of references to chunks by so much each.
func changeRefs(change map[int64]int64) []engine.Statement {
	var rows [][2]int64
	for chunk, n := range change {
		if n != 0 {
			rows = append(rows, [2]int64{chunk, n})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []engine.Statement{statement(sqlChangeRefs, encodeText(rows))}
}

// dropBlocks deletes the uncommitted blocks of a blob.
func dropBlocks(container int64, name string) []engine.Statement {
	return []engine.Statement{
		statement(sqlUnrefBlocks, container, name),
		statement(sqlDeleteBlocks, container, name),
	}
}

// contentPiece is a piece with its chunk.
type contentPiece struct {
	piece
	content.Chunk
}

// contentPieces returns up to limit pieces of a manifest that have bytes between
// from and before to, in order.
func (c *Catalog) contentPieces(ctx context.Context, manifest, from, to int64, limit int) ([]contentPiece, error) {
	if manifest == 0 {
		return nil, nil
	}
	var found []contentPiece
	err := c.engine.Query(ctx, sqlContent, []any{manifest, from, to, int64(limit)}, func(r engine.Columns) error {
		s := contentPiece{
			piece: piece{start: r.Int64(0), size: r.Int64(1), chunk: r.Int64(2), at: r.Int64(3)},
			Chunk: content.Chunk{ID: r.Int64(2), Size: r.Int64(4), CRC: uint64(r.Int64(5))},
		}
		if !r.IsNull(6) {
			s.Inline = r.Bytes(6)
		}
		found = append(found, s)
		return nil
	})
	return found, err
}

// encodeText is encode for SQLite's JSON functions, which take text.
func encodeText(v any) string { return string(encode(v)) }

package catalog

import (
	"context"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Lineage is a blob with its snapshots.
type Lineage struct {
	Base      *LineageEntry   // nil: it was deleted, and the snapshots stayed
	Snapshots []*LineageEntry // oldest first; Details.Of is the base's ETag then
}

// LineageEntry is a blob or a snapshot in a lineage.
type LineageEntry struct {
	*Item

	// Own counts the bytes of content that would be free if this item alone were
	// deleted.
	Own int64

	// RestoredFrom is the snapshot of the same blob that the content was copied
	// from, if it was.
	RestoredFrom Snapshot
}

// Lineage returns a blob and its snapshots, and what they take.
func (c *Catalog) Lineage(ctx context.Context, ref Ref) (Lineage, error) {
	var l Lineage
	ref = ref.base()
	err := c.join(ctx, ref, func(e *edit) error {
		entries, err := e.entries(ctx)
		if err != nil {
			return err
		}
		if err := e.measure(ctx, entries); err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.IsSnapshot() {
				l.Snapshots = append(l.Snapshots, entry)
			} else {
				l.Base = entry
			}
		}
		if l.Base != nil {
			l.Base.Lease, err = c.look(ctx, ref)
		}
		return err
	})
	switch {
	case err != nil:
		return Lineage{}, err
	case l.Base == nil && len(l.Snapshots) == 0:
		return Lineage{}, azerr.New(azerr.BlobNotFound)
	}
	return l, nil
}

// entries returns the committed items of the blob's name, the base last.
func (e *edit) entries(ctx context.Context) ([]*LineageEntry, error) {
	var entries []*LineageEntry
	const sql = `SELECT ` + itemColumns + ` FROM blob_items WHERE container = ? AND name = ? AND committed ORDER BY snapshot`
	err := e.engine.Query(ctx, sql, []any{e.container.id, e.ref.Blob}, func(r engine.Columns) error {
		item, err := scanItem(e.ref, r)
		if err == nil {
			entries = append(entries, &LineageEntry{Item: item, RestoredFrom: item.restoredFrom()})
		}
		return err
	})
	return entries, err
}

// restoredFrom reads out of the copy's source which snapshot of the same blob it
// was.
func (i *Item) restoredFrom() Snapshot {
	if i.Copy == nil {
		return Snapshot{}
	}
	source, err := url.Parse(i.Copy.Source)
	if err != nil || !strings.HasSuffix(source.Path, "/"+i.Container+"/"+i.Blob) {
		return Snapshot{}
	}
	snapshot, _ := ParseSnapshot(source.Query().Get("snapshot"))
	return snapshot
}

// usage is what is known of a chunk while a lineage is measured.
type usage struct {
	owner      *LineageEntry // nil: more than one
	size, refs int64
}

// measure counts the bytes that each entry alone has: those of chunks that no
// other item refers to, in this lineage or as a copy.
func (e *edit) measure(ctx context.Context, entries []*LineageEntry) error {
	chunks := map[int64]*usage{}
	for manifest, m := range byManifest(entries) {
		if err := e.measureManifest(ctx, manifest, m, chunks); err != nil {
			return err
		}
	}
	for _, u := range chunks {
		if u.owner != nil && u.refs == 0 {
			u.owner.Own += u.size
		}
	}
	return nil
}

// sharers are the entries that have one manifest.
type sharers struct {
	largest *LineageEntry
	second  int64 // what the largest but one has of it
}

func byManifest(entries []*LineageEntry) map[int64]*sharers {
	all := map[int64]*sharers{}
	for _, entry := range entries {
		s := all[entry.manifest]
		switch {
		case entry.manifest == 0:
		case s == nil:
			all[entry.manifest] = &sharers{largest: entry}
		case entry.Size > s.largest.Size:
			s.largest, s.second = entry, s.largest.Size
		default:
			s.second = max(s.second, entry.Size)
		}
	}
	return all
}

// measureManifest takes the chunks of one manifest into account. Refs are
// counted down to those of nobody in this lineage.
func (e *edit) measureManifest(ctx context.Context, manifest int64, s *sharers, chunks map[int64]*usage) error {
	const sql = `SELECT p.chunk, min(p.start), count(*), c.size, c.refs FROM blob_pieces p JOIN blob_chunks c ON c.id = p.chunk
		WHERE p.manifest = ? GROUP BY p.chunk`
	return e.engine.Query(ctx, sql, []any{manifest}, func(r engine.Columns) error {
		u, shared := chunks[r.Int64(0)], r.Int64(1) < s.second
		if u == nil {
			u = &usage{owner: s.largest, size: r.Int64(3), refs: r.Int64(4)}
			chunks[r.Int64(0)] = u
		} else {
			shared = true
		}
		u.refs -= r.Int64(2)
		if shared {
			u.owner = nil
		}
		return nil
	})
}

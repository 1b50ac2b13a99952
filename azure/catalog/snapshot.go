package catalog

import (
	"context"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// Snapshot keeps the blob as it is now: one row, whatever its size. It returns
// the snapshot, with the ETag of its base. Metadata takes the place of the
// base's unless it is nil. A lease does not stop it, because it changes nothing
// of the base: an id is a condition, no more.
//
// Those who snapshot one blob share its lock, so that thousands of them share
// their commits. Ids come from one clock, so they are all different, and each is
// larger than those of earlier snapshots.
func (c *Catalog) Snapshot(ctx context.Context, ref Ref, metadata map[string]string, a Access) (*Item, error) {
	if ref.IsSnapshot() {
		return nil, azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot has no snapshots")
	}
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	b, err := c.shareBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	if !b.exists() {
		return nil, azerr.New(azerr.BlobNotFound)
	}
	last, err := b.lastSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	made := b.makeSnapshot(last, metadata)
	problem := b.check(a.If)
	if problem == nil && b.item.Tier == "Archive" {
		problem = azerr.New(azerr.BlobArchived)
	}
	ch := b.change(a, problem, made.put(b.container.id))
	ch.lease = guard(ref, a, machine.Read)
	if err := c.commit(ctx, ch); err != nil {
		return nil, err
	}
	return made, nil
}

// makeSnapshot returns the snapshot's item.
func (b *blob) makeSnapshot(last Ticks, metadata map[string]string) *Item {
	i := *b.item
	taken := b.clock.after(last)
	i.Snapshot = At(taken)
	i.LastSnapshot, i.Of = 0, i.Ticks
	if metadata != nil {
		i.Metadata = metadata
	}
	if ttl := b.o.SnapshotTTL; ttl > 0 {
		gone := taken + Ticks(ttl/100)
		i.Expires = &gone
	}
	return &i
}

// lastSnapshot returns the largest id that a snapshot of the blob is known to
// have had.
func (b *blob) lastSnapshot(ctx context.Context) (Ticks, error) {
	var last Ticks
	_, err := b.queryOne(ctx, sqlLastSnapshot, []any{b.container.id, b.ref.Blob, int64(Base)}, func(r engine.Columns) { last = Ticks(r.Int64(0)) })
	if b.item != nil {
		last = max(last, b.item.LastSnapshot)
	}
	return last, err
}

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

// Lineage returns a blob and its snapshots, and what they occupy.
func (c *Catalog) Lineage(ctx context.Context, ref Ref) (Lineage, error) {
	b, err := c.shareBlob(ctx, ref.base())
	if err != nil {
		return Lineage{}, err
	}
	defer b.unlock()
	items, err := c.loadItems(ctx, sqlCommittedItems, b, func(bad error) error { return bad })
	if err != nil {
		return Lineage{}, err
	}
	if len(items) == 0 {
		return Lineage{}, azerr.New(azerr.BlobNotFound)
	}
	var l Lineage
	entries := make([]*LineageEntry, len(items))
	for i, item := range items { // the base comes last
		entries[i] = &LineageEntry{Item: item, RestoredFrom: item.restoredFrom()}
		if item.IsSnapshot() {
			l.Snapshots = append(l.Snapshots, entries[i])
		} else {
			l.Base = entries[i]
		}
	}
	if err := b.measure(ctx, entries); err != nil {
		return Lineage{}, err
	}
	if l.Base != nil {
		if l.Base.Lease, err = c.checkRead(ctx, b.ref, Access{}, l.Base.Ticks); err != nil {
			return Lineage{}, err
		}
	}
	return l, nil
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
func (b *blob) measure(ctx context.Context, entries []*LineageEntry) error {
	chunks := map[int64]*usage{}
	for manifest, m := range byManifest(entries) {
		if err := b.measureManifest(ctx, manifest, m, chunks); err != nil {
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
func (b *blob) measureManifest(ctx context.Context, manifest int64, s *sharers, chunks map[int64]*usage) error {
	return b.engine.Query(ctx, sqlChunksOfManifest, []any{manifest}, func(r engine.Columns) error {
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

package catalog

import (
	"context"

	"github.com/leasehold/leasehold/engine"
)

// MaxPage is how many entries a page of a list has at most.
const MaxPage = 5000

// ListRequest says which blobs to list.
type ListRequest struct {
	Prefix string // only names that begin so
	// Delimiter folds all names that have it after the prefix, and agree up to
	// it, into one entry. Empty: none do.
	Delimiter   string
	Marker      string // where to go on; empty: from the beginning
	Max         int    // entries of a page; out of 1 to MaxPage: MaxPage
	Snapshots   bool   // also snapshots, oldest first, and then their base
	Uncommitted bool   // also blobs that have only uncommitted blocks so far
	BaseFirst   bool   // with Snapshots: the base comes before them
}

// ListEntry is a blob or a snapshot, or a prefix that stands for all names that
// begin with it.
type ListEntry struct {
	Prefix string // empty: Item it is
	*Item
}

// ListPage is a page of a list.
type ListPage struct {
	Entries []ListEntry
	Next    string // the marker of the next page; empty: this is the last
}

// List returns a page of the container's blobs, names in byte order.
//
// A marker is a place between names, not a row, so blobs that come and go while
// somebody pages make no other blob appear twice or not at all.
func (c *Catalog) List(ctx context.Context, ref Ref, r ListRequest) (ListPage, error) {
	w := walk{ListRequest: r, container: ref.container(), max: pageSize(r.Max)}
	if err := w.begin(); err != nil {
		return ListPage{}, err
	}
	defer c.containerLocks.share(ref.container().path())()
	row, err := c.container(ctx, ref)
	if err != nil {
		return ListPage{}, err
	}
	if err := w.run(ctx, c, row.id); err != nil {
		return ListPage{}, err
	}
	return w.page, c.showLeases(ctx, w.page.Entries)
}

// pageSize is how many entries a page may have.
func pageSize(asked int) int {
	if asked <= 0 || asked > MaxPage {
		return MaxPage
	}
	return asked
}

// showLeases fills in the leases of the base blobs on a page.
func (c *Catalog) showLeases(ctx context.Context, entries []ListEntry) error {
	var bases []*Item
	var names []string
	for _, e := range entries {
		if e.Item != nil && !e.IsSnapshot() {
			bases, names = append(bases, e.Item), append(names, e.Resource())
		}
	}
	if len(bases) == 0 {
		return nil
	}
	return c.engine.Look(ctx, names, func(i int, v engine.View) { bases[i].Lease = viewOf(v) })
}

// after is the least string above all that begin with prefix. Above all strings
// that begin with nothing, or with nothing but the highest byte, there is none.
func after(prefix string) (string, bool) {
	for last := len(prefix) - 1; last >= 0; last-- {
		if prefix[last] < 0xff {
			return prefix[:last] + string([]byte{prefix[last] + 1}), true
		}
	}
	return "", false
}

// bound is after for SQL, where every blob of bytes is above every text.
func bound(prefix string) any {
	if end, ok := after(prefix); ok {
		return end
	}
	return []byte{}
}

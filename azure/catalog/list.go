package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	if err := w.start(); err != nil {
		return ListPage{}, err
	}
	b, err := c.readBlob(ctx, ref.container())
	if err != nil {
		return ListPage{}, err
	}
	defer b.unlock()
	if err := w.run(ctx, c, b.container); err != nil {
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

// walk reads the rows of a container, in the order of the primary key, and makes
// a page of them. It seeks over what the page does not show, so a page costs what
// is on it, however much lies between.
type walk struct {
	ListRequest
	container Ref
	max       int

	at     place    // the last thing looked at
	passed int      // rows in a row that were not shown
	base   string   // BaseFirst: the name whose base must be fetched now
	last   place    // the last thing on the page
	page   ListPage // so far
	full   bool     // there is more than fits on the page
}

// maxPassed is how many rows in a row are passed over before the walk seeks what
// comes after them. A seek costs about as much.
const maxPassed = 48

// start finds the place to start from.
func (w *walk) start() error {
	w.at = place{name: w.Prefix, snapshot: beforeAll}
	if w.Marker == "" {
		return nil
	}
	at, err := readMarker(blobList, w.Marker)
	if err != nil {
		return err
	}
	if at.name >= w.Prefix {
		w.at = at
	}
	return nil
}

// run walks until the page is full or there is nothing more.
func (w *walk) run(ctx context.Context, c *Catalog, container *Container) error {
	for !w.full {
		name, snapshot, ok := w.at.seek(w.basesFirst())
		if !ok {
			return nil
		}
		args := []any{container.id, name, snapshot, bound(w.Prefix), w.Uncommitted}
		err := c.engine.Query(ctx, sqlListItems, args, w.row)
		if err == nil || !errors.Is(err, errEnough) {
			return err
		}
		w.passed = 0
		if w.base != "" {
			if err := w.fetchBase(ctx, c, container); err != nil {
				return err
			}
		}
	}
	w.page.Next = w.last.marker(blobList)
	return nil
}

// row looks at a row of the walk, and stops it with errEnough.
func (w *walk) row(r engine.Columns) error {
	here := place{name: r.Text(0), snapshot: Ticks(r.Int64(1))}
	hidden := !w.Snapshots && here.snapshot != Base
	prefix := w.folded(here.name)
	shown := w.at == place{name: prefix, prefix: true}
	switch {
	case prefix != "" && (shown || !hidden): // hidden ones alone make no prefix
		return w.fold(prefix)
	case hidden:
		return w.pass(place{name: here.name, snapshot: Base - 1})
	case w.basesFirst() && w.at.within(here.name):
		if here.snapshot == Base {
			return nil // it came first
		}
	case w.basesFirst() && here.snapshot != Base:
		w.base = here.name
		return errEnough
	}
	i, err := scanItem(w.container, r)
	if err != nil {
		return err
	}
	return w.show(here, ListEntry{Item: i})
}

func (w *walk) basesFirst() bool { return w.BaseFirst && w.Snapshots }

// folded returns the prefix that stands for a name; empty: the name stands for
// itself.
func (w *walk) folded(name string) string {
	if w.Delimiter == "" {
		return ""
	}
	n := strings.Index(name[len(w.Prefix):], w.Delimiter)
	if n < 0 {
		return ""
	}
	return name[:len(w.Prefix)+n+len(w.Delimiter)]
}

// fold shows a prefix, once.
func (w *walk) fold(prefix string) error {
	here := place{name: prefix, prefix: true}
	if w.at == here {
		return w.pass(here)
	}
	return w.show(here, ListEntry{Prefix: prefix})
}

// pass skips a row. After many in a row it seeks what comes after them.
func (w *walk) pass(here place) error {
	w.at = here
	if w.passed++; w.passed > maxPassed {
		return errEnough
	}
	return nil
}

// show puts an entry on the page, unless that is full.
func (w *walk) show(here place, e ListEntry) error {
	if len(w.page.Entries) == w.max {
		w.full = true
		return errEnough
	}
	w.page.Entries = append(w.page.Entries, e)
	w.at, w.last, w.passed = here, here, 0
	return nil
}

// fetchBase shows the base of the name whose first snapshot was met.
func (w *walk) fetchBase(ctx context.Context, c *Catalog, container *Container) error {
	ref := w.container
	ref.Blob, w.base = w.base, ""
	here := place{name: ref.Blob, snapshot: Base}
	i, err := c.loadItem(ctx, container, ref)
	if err != nil {
		return err
	}
	if i == nil || !i.Committed && !w.Uncommitted {
		w.at = here // there is none to come first
		return nil
	}
	_ = w.show(here, ListEntry{Item: i}) // if the page is full, the walk is over anyhow
	return nil
}

// ContainerPage is a page of a list of containers.
type ContainerPage struct {
	Containers []*Container
	Next       string // the marker of the next page; empty: this is the last
}

// ListContainers returns a page of the account's containers, names in byte
// order. Max out of 1 to MaxPage is MaxPage.
func (c *Catalog) ListContainers(ctx context.Context, account, prefix, marker string, max int) (ContainerPage, error) {
	at := place{name: prefix, snapshot: beforeAll}
	if marker != "" {
		from, err := readMarker(containerList, marker)
		if err != nil {
			return ContainerPage{}, err
		}
		if from.name >= prefix {
			at = from
		}
	}
	w := containerWalk{account: account, max: pageSize(max)}
	err := c.engine.Query(ctx, sqlListContainers, w.args(prefix, at), w.row)
	if err != nil && !errors.Is(err, errEnough) {
		return ContainerPage{}, err
	}
	return w.page, c.showContainerLeases(ctx, w.page.Containers)
}

// containerWalk puts a page of containers together.
type containerWalk struct {
	account string
	max     int
	page    ContainerPage
}

func (w *containerWalk) args(prefix string, at place) []any {
	last := ""
	if at.snapshot != beforeAll {
		last = at.name
	}
	return []any{w.account, prefix, last, bound(prefix)}
}

func (w *containerWalk) row(r engine.Columns) error {
	found := w.page.Containers
	if len(found) == w.max {
		w.page.Next = place{name: found[w.max-1].Container}.marker(containerList)
		return errEnough
	}
	k := &Container{Ref: Ref{Account: w.account, Container: r.Text(1)}, id: r.Int64(0), Ticks: Ticks(r.Int64(2))}
	if err := json.Unmarshal(r.Bytes(3), &k.ContainerDetails); err != nil {
		return fmt.Errorf("container %s: %w", k.path(), err)
	}
	w.page.Containers = append(found, k)
	return nil
}

func (c *Catalog) showContainerLeases(ctx context.Context, found []*Container) error {
	if len(found) == 0 {
		return nil
	}
	names := make([]string, len(found))
	for i, k := range found {
		names[i] = k.Resource()
	}
	return c.engine.Look(ctx, names, func(i int, v engine.View) { found[i].Lease = viewOf(v) })
}

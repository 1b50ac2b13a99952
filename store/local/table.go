package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/btree"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local/internal/claims"
	"github.com/leasehold/leasehold/store/local/internal/heap"
)

// table is every row in memory, with an index for each lookup that must not
// scan.
type table struct {
	rows    map[string]*entry
	ids     map[leasehold.ID]*entry // current and former ids, save the scoped
	names   *btree.BTreeG[*entry]   // by resource
	holders *btree.BTreeG[*entry]   // by holder, then resource
	due     heap.Heap[*entry]       // live and finite, by end
	lapsed  list                    // past their end, which is not written yet
	ended   list                    // neither active nor breaking, by end; not the scoped
	scoped  list                    // the same for rows with scoped ids: blob leases
	live    int                     // how many are active or breaking, the lapsed not counted
	callers map[string]int          // how many of the live are a caller's
	claims  claims.Index[*entry]    // live sets, by what they claim
	notes   claims.Index[*entry]    // sets that have ended and left a note
}

// entry is one row and its links into the indexes. There may be millions:
// every field costs.
type entry struct {
	row        machine.Row
	batch      uint64 // the batch that last wrote the row
	slot       int32  // where in that batch
	due        int32  // where in the heap; -1: not there
	list       *list
	prev, next *entry
}

const btreeDegree = 32

func newTable() *table {
	return &table{
		rows:    map[string]*entry{},
		ids:     map[leasehold.ID]*entry{},
		names:   btree.NewG(btreeDegree, byName),
		holders: btree.NewG(btreeDegree, byHolder),
		callers: map[string]int{},
		due: heap.Heap[*entry]{
			Less:  func(a, b *entry) bool { return a.row.Ends < b.row.Ends },
			Moved: func(e *entry, at int) { e.due = int32(at) },
		},
	}
}

func byName(a, b *entry) bool { return a.row.Resource < b.row.Resource }

func byHolder(a, b *entry) bool {
	if c := strings.Compare(a.row.Holder, b.row.Holder); c != 0 {
		return c < 0
	}
	return a.row.Resource < b.row.Resource
}

// row returns what is known of a resource.
func (t *table) row(resource string) machine.Row {
	if e := t.rows[resource]; e != nil {
		return e.row
	}
	return machine.Row{Resource: resource}
}

// known returns the row with this id, current or former, or nil.
func (t *table) known(id leasehold.ID) *machine.Row {
	if e := t.ids[id]; e != nil && !id.IsZero() {
		return &e.row
	}
	return nil
}

// put makes row the resource's row.
func (t *table) put(row machine.Row) *entry {
	e := t.rows[row.Resource]
	if e == nil {
		e = &entry{row: row, due: -1}
		t.rows[row.Resource] = e
		t.names.ReplaceOrInsert(e)
		t.holders.ReplaceOrInsert(e)
	} else {
		t.count(e, -1)
		t.removeIDs(e)
		t.removeClaims(e)
		if e.row.Holder != row.Holder {
			t.holders.Delete(e)
			e.row = row
			t.holders.ReplaceOrInsert(e)
		}
		e.row = row
	}
	t.addIDs(e)
	if e.row.Claims != nil {
		t.claimsOf(e).Add(e, e.row.Claims)
	}
	t.schedule(e)
	t.count(e, +1)
	return e
}

// drop forgets the resource.
func (t *table) drop(e *entry) {
	t.count(e, -1)
	t.removeIDs(e)
	t.removeClaims(e)
	t.unschedule(e)
	t.holders.Delete(e)
	t.names.Delete(e)
	delete(t.rows, e.row.Resource)
}

// count adds n to the counts of live leases if the entry is one.
func (t *table) count(e *entry, n int) {
	if !e.row.State.Locked() || e.list == &t.lapsed {
		return
	}
	t.live += n
	caller := e.row.Caller
	if caller == "" {
		return
	}
	if t.callers[caller] += n; t.callers[caller] == 0 {
		delete(t.callers, caller)
	}
}

func (t *table) addIDs(e *entry) {
	if e.row.Scoped {
		return
	}
	if !e.row.Former.IsZero() {
		t.ids[e.row.Former] = e
	}
	t.ids[e.row.ID] = e
}

func (t *table) removeIDs(e *entry) {
	for _, id := range [...]leasehold.ID{e.row.ID, e.row.Former} {
		if t.ids[id] == e {
			delete(t.ids, id)
		}
	}
}

func (t *table) removeClaims(e *entry) {
	if e.row.Claims != nil {
		t.claimsOf(e).Remove(e, e.row.Claims)
	}
}

// claimsOf returns the index that a set stands in.
func (t *table) claimsOf(e *entry) *claims.Index[*entry] {
	if e.row.State.Locked() {
		return &t.claims
	}
	return &t.notes
}

// schedule puts the entry into the heap or the list of its state.
func (t *table) schedule(e *entry) {
	finite := e.row.State.Locked() && e.row.Ends != machine.Never
	if finite && e.due >= 0 {
		t.due.Fix(int(e.due))
		return
	}
	t.unschedule(e)
	switch {
	case finite:
		t.due.Push(e)
	case !e.row.State.Locked() && e.row.Scoped:
		t.scoped.push(e)
	case !e.row.State.Locked():
		t.ended.push(e)
	}
}

func (t *table) unschedule(e *entry) {
	if e.due >= 0 {
		t.due.Remove(int(e.due))
	}
	if e.list != nil {
		e.list.remove(e)
	}
}

// lapse moves a lease past its end out of the heap; its expiry is written later.
func (t *table) lapse(e *entry) {
	t.count(e, -1)
	t.unschedule(e)
	t.lapsed.push(e)
}

// sortEnded orders the lists of ended rows by their end, after a load in order of
// resource.
func (t *table) sortEnded() {
	t.ended.sort()
	t.scoped.sort()
}

// ofHolder calls each for the holder's entries, ordered by resource, from the
// resource on, until it returns false.
func (t *table) ofHolder(holder, from string, each func(*entry) bool) {
	pivot := &entry{row: machine.Row{Holder: holder, Resource: from}}
	t.holders.AscendGreaterOrEqual(pivot, func(e *entry) bool {
		return e.row.Holder == holder && each(e)
	})
}

// ofChildren calls each for the entries of the holders below this one, whose names begin
// with its name and a slash, until it returns false.
func (t *table) ofChildren(holder string, each func(*entry) bool) {
	prefix := holder + "/"
	t.holders.AscendGreaterOrEqual(&entry{row: machine.Row{Holder: prefix}}, func(e *entry) bool {
		return strings.HasPrefix(e.row.Holder, prefix) && each(e)
	})
}

// covering returns the entries of the resource and of the sets that have it, ordered by
// resource.
func (t *table) covering(resource string) (entries []*entry) {
	if e := t.rows[resource]; e != nil {
		entries = append(entries, e)
	}
	entries = append(entries, t.claims.Named(resource)...)
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(a.row.Resource, b.row.Resource) })
	return entries
}

// from calls each for all entries, ordered by resource, from the resource on,
// until it returns false.
func (t *table) from(resource string, each func(*entry) bool) {
	t.names.AscendGreaterOrEqual(&entry{row: machine.Row{Resource: resource}}, each)
}

// list is an intrusive doubly linked list: adding an entry allocates nothing.
type list struct {
	head, tail *entry
	len        int
}

// sort orders the list by the ends of the leases.
func (l *list) sort() {
	var all []*entry
	for e := l.head; e != nil; e = e.next {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.row.Ends, b.row.Ends) })
	*l = list{}
	for _, e := range all {
		l.push(e)
	}
}

func (l *list) push(e *entry) {
	l.len++
	e.list, e.prev, e.next = l, l.tail, nil
	if l.tail != nil {
		l.tail.next = e
	} else {
		l.head = e
	}
	l.tail = e
}

func (l *list) remove(e *entry) {
	l.len--
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.head = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.tail = e.prev
	}
	e.list, e.prev, e.next = nil, nil, nil
}

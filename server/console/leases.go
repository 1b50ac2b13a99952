package console

import (
	"time"

	"github.com/leasehold/leasehold"
)

// leasesData is what the table of leases shows.
type leasesData struct {
	Filter      filter
	Rows        []row
	Total       total
	Waiting     int    // of all resources
	NoWaits     bool   // the store does not say who waits
	Listed      int    // of those who wait, how many are in the rows; zero: all
	Unsupported string // what the store cannot do
	First, Next string // addresses of other pages; may be empty
	From, Until string // names between which this page's rows are; Until may be empty
	Paged       bool
	Moment      *momentNote
}

// Fields are inputs for metadata: those in use, and an empty one.
func (d leasesData) Fields() []string {
	return append(d.Filter.Pairs[:len(d.Filter.Pairs):len(d.Filter.Pairs)], "")
}

// leases shows the table of leases.
func (v *visit) leases() error {
	d := leasesData{Filter: readFilter(v.query)}
	p := page{Title: "Leases"}
	r, err := d.Filter.request()
	if err != nil {
		return err
	}
	if !v.at.IsZero() {
		if err := v.leasesAt(&d, r); err != nil {
			return err
		}
	} else if err := v.leasesNow(&d, r); err != nil {
		return err
	}
	d.link(v, &p)
	p.Data = d
	return v.render(200, "leases", p)
}

// leasesNow fills in the table as it is.
func (v *visit) leasesNow(d *leasesData, r leasehold.ListRequest) error {
	lister, ok := v.s.store.(leasehold.Lister)
	if !ok {
		d.Unsupported = "This store does not list its leases. A resource's own page works: open it by its name."
		return nil
	}
	page, err := callStore(v, lister.List, r)
	if unsupported(err) {
		d.Unsupported = "This store does not list its leases. A resource's own page works: open it by its name."
		return nil
	}
	if err != nil {
		return err
	}
	waits, err := v.waitTable()
	d.NoWaits = unsupported(err)
	if err != nil && !d.NoWaits {
		return err
	}
	for _, l := range page.Leases {
		d.Rows = append(d.Rows, newRow(l, waits.byLease[l.Resource]))
	}
	d.Waiting, d.Next, d.Listed = waits.list.Total, page.Cursor, waits.listed()
	d.Total, err = v.count(r, countBudget)
	return err
}

// link makes the addresses of other pages and of the live updates.
func (d *leasesData) link(v *visit, p *page) {
	q := d.Filter.values()
	q.Del("cursor")
	if at := v.query.Get("at"); at != "" {
		q.Set("at", at)
	}
	address := func() string {
		if len(q) == 0 {
			return "?"
		}
		return "?" + q.Encode()
	}
	if d.Filter.Cursor != "" {
		d.First, d.Paged = address(), true
		if len(d.Rows) > 0 {
			d.From = d.Rows[0].Name
		}
	}
	if d.Next != "" {
		q.Set("cursor", d.Next)
		d.Next = address()
		d.Until = d.Rows[len(d.Rows)-1].Name
		q.Del("cursor")
	}
	q.Set("of", "leases")
	q.Set("from", d.From)
	q.Set("until", d.Until)
	if d.Unsupported == "" {
		p.Stream = "stream?" + q.Encode()
	}
}

// waitTable is who waits, by what is in the way.
type waitTable struct {
	list    leasehold.WaitList
	byLease map[string][]leasehold.Wait // by the resource of the lease that they wait for
	version uint64                      // counts the tables
}

// listed is how many of those who wait are in the list; zero: all.
func (t waitTable) listed() int {
	if n := len(t.list.Waits); n < t.list.Total {
		return n
	}
	return 0
}

const waitLife = 400 * time.Millisecond

// waitTable lists those who wait. All pages and streams share the answer for a moment.
func (v *visit) waitTable() (waitTable, error) {
	lister, ok := v.s.store.(leasehold.WaitLister)
	if !ok {
		v.s.noWaits.Store(true)
		return waitTable{}, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "waits"}
	}
	return v.s.waits.get(waitLife, func() (waitTable, error) {
		list, err := callStore(v, lister.Waits, leasehold.MaxPage)
		v.s.noWaits.Store(unsupported(err))
		if err != nil {
			return waitTable{}, err
		}
		t := newWaitTable(list)
		t.version = v.s.changes.add(t)
		return t, nil
	})
}

func newWaitTable(list leasehold.WaitList) waitTable {
	t := waitTable{list: list, byLease: map[string][]leasehold.Wait{}}
	for _, w := range list.Waits {
		seen := map[string]bool{}
		for _, b := range w.Behind {
			if b.Resource != "" && !seen[b.Resource] {
				seen[b.Resource] = true
				t.byLease[b.Resource] = append(t.byLease[b.Resource], w)
			}
		}
	}
	return t
}

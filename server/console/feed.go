package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	// rowPause and pagePause are how soon a stream is written to again. What happens
	// in between is written together.
	rowPause   = 40 * time.Millisecond
	pagePause  = time.Second
	plotsPause = 5 * time.Second

	// maxPending is from how many changed rows on the whole table is loaded again.
	maxPending = 300
	// totalsAfter is for how long after a change the counts are looked at.
	totalsAfter = 2*totalLife + time.Second
)

// feed collects what a page must show anew. The store's watch only notes names, so a
// slow browser delays nobody.
type feed struct {
	visit *visit
	of    string
	rows  leasehold.ListRequest // of the table
	name  string                // of the resource or holder
	from  string                // the page's rows lie between
	until string
	pause time.Duration
	wake  chan struct{}

	mu      sync.Mutex
	pending map[string]bool
	changed bool // the whole page

	seen      uint64 // up to which table of those who wait changes are noted
	queue     string // of the resource's page, as last looked at
	lastNews  time.Time
	lastTotal totalsData
	totals    chan knownTotals
	counting  bool
}

// totalsData are the counts above the table.
type totalsData struct {
	Leases  int  `json:"leases"`
	More    bool `json:"more"`
	Waiting int  `json:"waiting"`
}

func newFeed(v *visit) (*feed, leasehold.WatchRequest, error) {
	q := v.query
	f := &feed{visit: v, of: q.Get("of"), name: q.Get("name"), from: q.Get("from"), until: q.Get("until"),
		pause: pagePause, wake: make(chan struct{}, 1), totals: make(chan knownTotals, 1), pending: map[string]bool{}}
	var r leasehold.WatchRequest
	var err error
	switch f.of {
	case "leases":
		f.pause = rowPause
		f.rows, err = readFilter(q).request()
		r.Prefix = f.rows.Prefix
	case "resource":
		r.Prefix, err = f.name, leasehold.CheckResource(f.name)
	case "holder":
		err = leasehold.CheckHolder(f.name)
	case "waits":
	case "plots":
		f.pause, r.Prefix = plotsPause, q.Get("prefix")
	default:
		err = leasehold.Invalid("of", "%.32q is no page with live updates", f.of)
	}
	return f, r, errors.Join(err, r.Validate())
}

// note notes what notices change.
func (f *feed) note(notices []*leasehold.SharedNotice) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range notices {
		switch {
		case n.Reset || f.of == "plots" || f.of == "waits":
			f.changed = true
		case n.Kind == leasehold.KindRefused:
		case f.of == "holder":
			f.changed = f.changed || n.Holder == f.name || n.Details["from"] == f.name
		case f.of == "resource":
			f.changed = f.changed || n.Resource == f.name
		case f.shows(n.Resource):
			f.add(n.Resource)
		}
	}
	if f.changed || len(f.pending) > 0 {
		f.signal()
	}
	return nil
}

// add notes a row. mu is held.
func (f *feed) add(name string) {
	f.lastNews = time.Now()
	if len(f.pending) >= maxPending {
		f.changed = true
	}
	if f.changed {
		clear(f.pending)
		return
	}
	f.pending[name] = true
}

// shows reports whether a name belongs to this page of the table.
func (f *feed) shows(name string) bool {
	return name != "" && name >= f.from && (f.until == "" || name <= f.until) && !strings.HasPrefix(name, leasehold.HealthPrefix)
}

func (f *feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run writes until the context ends or the browser accepts no more.
func (f *feed) run(ctx context.Context, w *streamWriter) error {
	poll, beat := time.NewTicker(pollEvery), time.NewTicker(heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	var counts sync.WaitGroup
	defer counts.Wait()
	f.lastNews = time.Now() // the page may have counted a part
	f.look()                // what it is compared with later
	// The watch has joined by the time the page has loaded itself again.
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(5 * time.Millisecond):
	}
	if err := w.write([]byte("retry: 1000\nevent: hello\ndata: {}\n\n")); err != nil {
		return err
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			err = w.event("beat", struct{}{})
		case <-poll.C:
			f.look()
			f.startCount(&counts)
		case n := <-f.totals:
			f.counting = false
			err = f.writeTotals(w, n)
		case <-f.wake:
			if err = f.write(w); err == nil {
				pause(ctx, f.pause)
			}
		}
		if err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// write writes what has been noted.
func (f *feed) write(w *streamWriter) error {
	f.mu.Lock()
	changed, names := f.changed, make([]string, 0, len(f.pending))
	for name := range f.pending {
		names = append(names, name)
	}
	f.changed = false
	clear(f.pending)
	f.mu.Unlock()
	if changed {
		if err := w.event("changed", struct{}{}); err != nil {
			return err
		}
		if f.of == "leases" {
			pause(f.visit.ctx, pagePause) // it loads the whole table
		}
		return nil
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	rows, err := f.render(names)
	if err != nil {
		return err
	}
	return w.event("rows", rows)
}

// liveRow is a row of the table for the script. Without HTML it is gone.
type liveRow struct {
	Name string `json:"name"`
	HTML string `json:"html,omitempty"`
}

// render reads the leases of these names and draws their rows.
func (f *feed) render(names []string) ([]liveRow, error) {
	v := f.visit
	waits, err := v.waitTable()
	if err != nil && !unsupported(err) {
		return nil, err
	}
	rows := make([]liveRow, 0, len(names))
	for _, name := range names {
		status, err := callStore(v, v.s.store.Status, name)
		if err != nil {
			return nil, err
		}
		live := liveRow{Name: name}
		if l := shownLease(status, name); l != nil && matches(f.rows, *l) {
			if live.HTML, err = v.rowHTML(newRow(*l, waits.byLease[name])); err != nil {
				return nil, err
			}
		}
		rows = append(rows, live)
	}
	return rows, nil
}

// shownLease is the live lease of that name: not one of several resources that only
// covers it, which has a row of its own.
func shownLease(status leasehold.Status, name string) *leasehold.Lease {
	if l := status.Lease; l != nil && l.Resource == name && l.State.Locked() {
		return l
	}
	for i, l := range status.Leases {
		if l.Resource == name && l.State.Locked() {
			return &status.Leases[i]
		}
	}
	return nil
}

// rowHTML draws one row of the table.
func (v *visit) rowHTML(r row) (string, error) {
	var b bytes.Buffer
	err := templates["leases"].ExecuteTemplate(&b, "row", rowView{page{visit: v}, r})
	return b.String(), err
}

// rowView is a row together with the page that it is on.
type rowView struct {
	Page page
	Row  row
}

// look notes what has changed of what no record reports.
func (f *feed) look() {
	v := f.visit
	switch f.of {
	case "leases", "waits", "holder":
		waits, err := v.waitTable()
		if err != nil {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.seen > 0 {
			f.noteChanges(v.s.changes.since(f.seen))
		}
		f.seen = waits.version
	case "resource":
		status, err := callStore(v, v.s.store.Status, f.name)
		if err != nil {
			return
		}
		now := statusVersion(status)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.queue != "" && f.queue != now {
			f.changed = true
			f.signal()
		}
		f.queue = now
	}
}

// statusVersion changes with what the page of a resource shows.
func statusVersion(s leasehold.Status) string {
	var b strings.Builder
	for _, w := range s.Waiters {
		fmt.Fprintf(&b, "%q %d %d;", w.Holder, w.Priority, w.Since.UnixMilli())
	}
	for _, l := range s.Leases {
		fmt.Fprintf(&b, "%d %s;", l.Token, l.State)
	}
	if s.Lease != nil {
		fmt.Fprintf(&b, "%d %s", s.Lease.Token, s.Lease.State)
	}
	return b.String() + "."
}

// noteChanges notes the rows whose waiters have changed. mu is held.
func (f *feed) noteChanges(names []string, known bool) {
	if !known {
		f.changed = true
		f.signal()
	}
	for _, name := range names {
		f.noteWaiters(name)
	}
}

// noteWaiters notes that other holders wait for a lease. mu is held.
func (f *feed) noteWaiters(name string) {
	switch {
	case f.of != "leases":
		f.changed = true
	case f.shows(name) && strings.HasPrefix(name, f.rows.Prefix):
		f.add(name)
	default:
		f.lastNews = time.Now()
		return
	}
	f.signal()
}

// startCount counts in the background if anything has changed lately: rows do not
// wait for it.
func (f *feed) startCount(counts *sync.WaitGroup) {
	f.mu.Lock()
	recent := time.Since(f.lastNews) < totalsAfter
	f.mu.Unlock()
	if f.of != "leases" || !recent || f.counting {
		return
	}
	f.counting = true
	counts.Go(func() {
		n, err := f.visit.count(f.rows, f.visit.s.o.StoreTimeout)
		waits, _ := f.visit.waitTable()
		if err != nil {
			n = total{} // not known: the next time, perhaps
		}
		f.totals <- knownTotals{totalsData{n.Leases, n.More, waits.list.Total}, err == nil}
	})
}

// knownTotals are counts, if they could be had.
type knownTotals struct {
	totalsData
	known bool
}

// writeTotals writes the counts if they have changed.
func (f *feed) writeTotals(w *streamWriter, n knownTotals) error {
	if !n.known || n.totalsData == f.lastTotal {
		return nil
	}
	f.lastTotal = n.totalsData
	return w.event("totals", n.totalsData)
}

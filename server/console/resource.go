package console

import (
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
)

// resourceData is what the page of a resource shows.
type resourceData struct {
	Name        string
	State       string // of the resource, in one word
	Row         *row   // the current lease, or the last one; nil: none is known
	Live        bool   // it is held
	Others      []row  // further live leases that cover the resource
	Queue       []place
	PartOfQueue bool // the store does not say who waits at other servers
	Breakable   bool
	History     []event
	NoHistory   string
	Spans       []span
	From, To    time.Time // of the timeline
	Older       string    // address of earlier records
	Moment      *momentNote
	MaxReason   int
	ReasonError string
}

// place is a waiter in the queue.
type place struct {
	leasehold.Place
	Waited float64 // seconds
}

// resource shows one resource, its queue and its history.
func (v *visit) resource() error {
	name := v.query.Get("name")
	if err := leasehold.CheckResource(name); err != nil {
		return err
	}
	d := resourceData{Name: name, State: leasehold.StateAvailable.String(), MaxReason: leasehold.MaxWhy}
	if !v.at.IsZero() {
		if err := v.resourceAt(&d); err != nil {
			return err
		}
	} else if err := v.resourceNow(&d); err != nil {
		return err
	}
	if err := v.addHistory(&d); err != nil {
		return err
	}
	return v.render(200, "resource", page{Title: "Resource", Name: name, Current: "resource",
		Stream: "stream?" + values("of", "resource", "name", name), Data: d})
}

func (v *visit) resourceNow(d *resourceData) error {
	status, err := callStore(v, v.s.store.Status, d.Name)
	if err != nil {
		return err
	}
	d.fill(status)
	_, err = v.waitTable()
	d.PartOfQueue = unsupported(err)
	_, breaks := v.s.store.(leasehold.Breaker)
	d.Breakable = v.s.has(breaks, powers.Breaking) && d.Live
	return nil
}

// fill shows a status.
func (d *resourceData) fill(status leasehold.Status) {
	if l := status.Lease; l != nil {
		r := newRow(*l, nil)
		d.Row, d.State, d.Live = &r, r.State, l.State.Locked()
	}
	for _, l := range status.Leases {
		if d.Row == nil || l.Resource != d.Row.Name || l.Token != d.Row.Token {
			d.Others = append(d.Others, newRow(l, nil))
		}
	}
	if !d.Live && len(d.Others) > 0 {
		d.State = "covered"
	}
	for _, w := range status.Waiters {
		d.Queue = append(d.Queue, place{w, max(0, time.Since(w.Since).Seconds())})
	}
}

const shownRecords = 100

// addHistory reads the newest records, or those up to the page's moment.
func (v *visit) addHistory(d *resourceData) error {
	historian, ok := v.s.store.(leasehold.Historian)
	if !ok {
		d.NoHistory = "This store keeps no history."
		return nil
	}
	r := leasehold.HistoryRequest{Resource: d.Name, Limit: shownRecords, Cursor: v.query.Get("cursor"), Until: v.until()}
	if err := r.Validate(); err != nil {
		return err
	}
	page, err := v.readHistory(historian, r)
	if unsupported(err) {
		d.NoHistory = "This store keeps no history."
		return nil
	}
	if err != nil {
		return err
	}
	d.History = newEvents(page.Records)
	end := time.Now()
	if !v.at.IsZero() {
		end = v.at
	}
	if r.Cursor != "" && len(page.Records) > 0 {
		end = page.Records[0].At
	}
	d.Spans, d.From, d.To = timeline(page.Records, end, d.Live && r.Cursor == "")
	if page.Cursor != "" {
		d.Older = "?" + values("name", d.Name, "cursor", page.Cursor, "at", v.query.Get("at"))
	}
	return nil
}

// readHistory reads one page of the history, as one of a few at the same time.
func (v *visit) readHistory(h leasehold.Historian, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if !v.s.scans.Enter(v.caller.Name) {
		return leasehold.HistoryPage{}, errBusy
	}
	defer v.s.scans.Exit(v.caller.Name)
	return callStore(v, h.History, r)
}

// event is a record for people.
type event struct {
	leasehold.Record
	Text    string   // what happened
	Details []string // key=value, or a length of time in words
}

var eventTexts = map[leasehold.Kind]string{
	leasehold.KindAcquired: "acquired", leasehold.KindRenewed: "renewed", leasehold.KindReleased: "released",
	leasehold.KindExpired: "expired", leasehold.KindBreaking: "being broken", leasehold.KindBroken: "broken",
	leasehold.KindChanged: "id changed", leasehold.KindTransferred: "transferred", leasehold.KindForceReleased: "force-released",
	leasehold.KindFailed: "wait failed", leasehold.KindPurged: "history purged", leasehold.KindConfigured: "setting changed",
}

func newEvents(records []leasehold.Record) []event {
	events := make([]event, len(records))
	for i, r := range records {
		e := event{Record: r, Text: eventTexts[r.Kind]}
		if e.Text == "" {
			e.Text = strings.ReplaceAll(string(r.Kind), "_", " ")
		}
		e.Details = detailTexts(r.Details)
		events[i] = e
	}
	return events
}

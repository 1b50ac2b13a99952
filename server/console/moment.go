package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// momentNote says how far a page of the past can be believed.
type momentNote struct {
	Text  string
	First time.Time // where the history that is kept begins; zero: not known
}

// moment is what the page is as of; zero is now.
func (v *visit) moment() time.Time { return v.at }

// parseMoment reads what a form's field or an address says. Without a zone it is UTC.
func parseMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, leasehold.Invalid("at", "%.40q is no time; write it as 2026-01-31T14:03:07Z", text)
}

// until ends a request for the history at the page's moment, that itself included.
func (v *visit) until() time.Time {
	if v.at.IsZero() {
		return time.Time{}
	}
	if v.at.Nanosecond() == 0 {
		return v.at.Add(time.Second) // the whole second that people mean
	}
	return v.at.Add(time.Nanosecond)
}

// unknownLeft is the time left of a lease of the past: no record has it.
const unknownLeft = -2

// pastLease is a lease as the history knows it.
type pastLease struct {
	newest  leasehold.Record // of this lease, up to the moment
	since   time.Time        // its grant; zero: older than the records that were read
	renewed int
	claims  string
}

// held returns what was held at the end of these records, newest first: of each
// resource the newest record decides.
func held(records []leasehold.Record) []*pastLease {
	byName := map[string]*pastLease{}
	for _, r := range records {
		if r.Token == 0 || r.Resource == "" || r.Kind == leasehold.KindFailed {
			continue
		}
		l := byName[r.Resource]
		if l == nil {
			l = &pastLease{newest: r, renewed: r.Renewals}
			byName[r.Resource] = l
		}
		if r.Token == l.newest.Token && (r.Kind == leasehold.KindAcquired || r.Kind == leasehold.KindTransferred) {
			l.since = r.At
			l.claims = cmp.Or(l.claims, r.Details["claims"])
		}
	}
	var live []*pastLease
	for _, l := range byName {
		if l.newest.After.Locked() {
			live = append(live, l)
		}
	}
	slices.SortFunc(live, func(a, b *pastLease) int { return cmp.Compare(a.newest.Resource, b.newest.Resource) })
	return live
}

func (l *pastLease) row() row {
	r := row{
		Name: l.newest.Resource, Labels: []string{cmp.Or(l.claims, l.newest.Resource)}, Holder: l.newest.Holder, Token: l.newest.Token,
		State: l.newest.After.String(), Left: unknownLeft, Since: l.since, Renewed: l.renewed,
		Kind: kindOf(leasehold.Lease{Resource: l.newest.Resource}),
	}
	if strings.HasPrefix(l.newest.Resource, leasehold.SetPrefix) {
		r.Kind = "set"
	}
	return r
}

// leasesAt fills in the table as it was.
func (v *visit) leasesAt(d *leasesData, r leasehold.ListRequest) error {
	d.NoWaits = true
	records, cut, err := v.readRecords(leasehold.HistoryRequest{Prefix: r.Prefix, Until: v.until()})
	if unsupported(err) {
		d.Unsupported = "This store keeps no history, from which the past is read."
		return nil
	}
	if err != nil {
		return err
	}
	d.Moment = v.note(records, cut)
	if len(r.Metadata) > 0 {
		d.Moment.Text += " Metadata is not on record, so the past is not filtered by it."
	}
	for _, l := range held(records) {
		if r.Holder != "" && l.newest.Holder != r.Holder {
			continue
		}
		if d.Total.Leases++; len(d.Rows) < leasehold.MaxPage {
			d.Rows = append(d.Rows, l.row())
		}
	}
	if d.Total.Leases > len(d.Rows) {
		d.Moment.Text += fmt.Sprintf(" The first %d are shown; filter by name for the others.", len(d.Rows))
	}
	return nil
}

// resourceAt fills in the page of a resource as it was.
func (v *visit) resourceAt(d *resourceData) error {
	records, cut, err := v.readRecords(leasehold.HistoryRequest{Resource: d.Name, Until: v.until()})
	if unsupported(err) {
		d.NoHistory = "This store keeps no history, from which the past is read."
		return nil
	}
	if err != nil {
		return err
	}
	d.Moment = v.note(records, cut)
	if live := held(records); len(live) > 0 {
		r := live[0].row()
		d.Row, d.State, d.Live = &r, r.State, true
	}
	return nil
}

// holderAt fills in the page of a holder as it was.
func (v *visit) holderAt(d *holderData) error {
	var table leasesData
	if err := v.leasesAt(&table, leasehold.ListRequest{Holder: d.Name}); err != nil {
		return err
	}
	d.Rows, d.NoList, d.Moment = table.Rows, table.Unsupported != "", table.Moment
	return nil
}

// firstLife is how long the beginning of the history is remembered.
const firstLife = 2 * time.Second

// note says where the history that is kept begins, and what it cannot say.
func (v *visit) note(records []leasehold.Record, cut bool) *momentNote {
	n := &momentNote{Text: "Made from the history, which has neither time left nor waiters."}
	if cut {
		n.Text += fmt.Sprintf(" Only the %d records before the moment were read: leases that were quiet for longer are missing. Filter by name.", len(records))
	}
	first, err := v.s.first.get(firstLife, v.firstRecord)
	if err != nil {
		return n
	}
	n.First = first
	if first.IsZero() || v.at.Before(first) {
		n.Text = "Nothing is known of this moment: it lies before the history that is kept."
		if first.IsZero() {
			n.Text = "Nothing is known of this moment: the history is empty."
		}
	}
	return n
}

// firstRecord finds the time of the oldest record that is kept, to the second. Stores
// read from the newest to the oldest, so it halves the time in question.
func (v *visit) firstRecord() (time.Time, error) {
	historian, ok := v.s.store.(leasehold.Historian)
	if !ok {
		return time.Time{}, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "history"}
	}
	oldest := time.Time{}
	early, late := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Now().Add(time.Hour)
	for late.Sub(early) > time.Millisecond {
		middle := early.Add(late.Sub(early) / 2)
		page, err := v.readHistory(historian, leasehold.HistoryRequest{Until: middle, Limit: 1})
		if err != nil {
			return time.Time{}, err
		}
		if len(page.Records) == 0 {
			early = middle
			continue
		}
		oldest = page.Records[0].At
		late = oldest
	}
	return oldest, nil
}

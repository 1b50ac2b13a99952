package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
)

// momentNote says how far a page of the past can be believed.
type momentNote struct {
	Text  string
	First time.Time // where the history that is kept begins; zero: not known

	unknown bool
}

// Unknown reports whether nothing is known of the moment. A page of now has no note.
func (n *momentNote) Unknown() bool { return n != nil && n.unknown }

// moment is what the page is as of; zero is now.
func (v *visit) moment() time.Time { return v.at }

// parseMoment reads what a form's field or an address says. Without a zone it is UTC.
// A moment to come is refused: what will be is in no history.
func parseMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		at, err := time.Parse(layout, text)
		switch {
		case err != nil || at.IsZero(): // zero is now
		case at.After(time.Now()):
			return time.Time{}, leasehold.Invalid("at", "%.40q lies in the future", text)
		default:
			return at.UTC(), nil
		}
	}
	return time.Time{}, leasehold.Invalid("at", "%.40q is no time; write it as 2026-01-31T14:03:07Z", text)
}

// until ends a request for the history at the page's moment, that itself included.
// Records have times of milliseconds.
func (v *visit) until() time.Time {
	if v.at.IsZero() {
		return time.Time{}
	}
	return v.at.Truncate(time.Millisecond).Add(time.Millisecond)
}

// unknownLeft is the time left of a lease whose end is not on record.
const unknownLeft = -2

// pastRow is a lease as it was at a moment.
func pastRow(l past.Lease, at time.Time) row {
	r := newRow(leasehold.Lease{
		Resource: l.Resource, Holder: l.Holder, Token: l.Token, State: l.State, Claims: l.Claims,
		AcquiredAt: l.AcquiredAt, ExpiresAt: l.ExpiresAt, Renewals: l.Renewals,
	}, nil)
	r.Left = unknownLeft
	switch {
	case l.Endless:
		r.Left = -1
	case !l.ExpiresAt.IsZero():
		started := l.RenewedAt
		if started.IsZero() {
			started = l.AcquiredAt
		}
		r.Left = max(0, l.ExpiresAt.Sub(at).Seconds())
		r.TTL = max(r.Left, l.ExpiresAt.Sub(started).Seconds())
		if started.IsZero() {
			r.TTL = r.Left
		}
	}
	if l.Known != past.Certain {
		r.Doubt = cmp.Or(l.Why, "records are missing")
	}
	return r
}

// readPast reads the history as one of a few pages that do.
func readPast[T any](v *visit, read func(context.Context, leasehold.Historian) (T, error)) (answer T, err error) {
	historian, ok := v.s.store.(leasehold.Historian)
	if !ok {
		return answer, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "history"}
	}
	if !v.s.scans.Enter(v.caller.Name) {
		return answer, errBusy
	}
	defer v.s.scans.Exit(v.caller.Name)
	return read(v.ctx, historian)
}

const noPast = "This store keeps no history, from which the past is read."

// leasesAt fills in the table as it was.
func (v *visit) leasesAt(d *leasesData, r leasehold.ListRequest) error {
	d.NoWaits = true
	page, err := readPast(v, func(ctx context.Context, h leasehold.Historian) (past.Page, error) {
		return past.Table(ctx, h, past.TableRequest{Time: v.at, Prefix: r.Prefix, Holder: r.Holder, Limit: r.Limit, Cursor: r.Cursor}, nil)
	})
	if unsupported(err) {
		d.Unsupported = noPast
		return nil
	}
	if err != nil {
		return err
	}
	d.Moment = v.note(page.Retained, page.Known, "")
	if len(r.Metadata) > 0 {
		d.Moment.Text += " Metadata is not on record, so the past is not filtered by it."
	}
	for _, l := range page.Leases {
		d.Rows = append(d.Rows, pastRow(l, v.at))
	}
	d.Total, d.Next = total{Leases: len(d.Rows), More: page.Cursor != ""}, page.Cursor
	return nil
}

// resourceAt fills in the page of a resource as it was.
func (v *visit) resourceAt(d *resourceData) error {
	answer, err := readPast(v, func(ctx context.Context, h leasehold.Historian) (past.Answer, error) {
		return past.Resource(ctx, h, d.Name, v.at, nil)
	})
	if unsupported(err) {
		d.NoHistory = noPast
		return nil
	}
	if err != nil {
		return err
	}
	d.Moment = v.note(answer.Retained, answer.Known, answer.Why)
	leases := answer.Leases
	if d.Live = len(leases) > 0; !d.Live && answer.Last != nil {
		leases = []past.Lease{*answer.Last}
	}
	for i, l := range leases {
		r := pastRow(l, v.at)
		if i == 0 {
			d.Row, d.State = &r, r.State
			continue
		}
		d.Others = append(d.Others, r)
	}
	if answer.Known != past.Certain {
		d.State = "not certain"
	}
	for i, w := range answer.Waiters {
		d.Queue = append(d.Queue, place{leasehold.Place{Holder: w.Holder, Since: w.Since, Position: i + 1}, v.at.Sub(w.Since).Seconds()})
	}
	return nil
}

// holderAt fills in the page of a holder as it was.
func (v *visit) holderAt(d *holderData) error {
	var table leasesData
	if err := v.leasesAt(&table, leasehold.ListRequest{Holder: d.Name, Limit: pageRows}); err != nil {
		return err
	}
	d.Rows, d.More, d.NoList, d.Moment = table.Rows, table.Next != "", table.Unsupported != "", table.Moment
	return nil
}

const pastText = "Made from the history, which has no metadata, and of waiters those alone whose wait is over."

// waitsAt fills in who waited.
func (v *visit) waitsAt(d *waitsData) error {
	answer, err := readPast(v, func(ctx context.Context, h leasehold.Historian) (past.Waits, error) {
		return past.Waiting(ctx, h, v.at, nil)
	})
	if unsupported(err) {
		d.Moment = &momentNote{Text: noPast}
		return nil
	}
	if err != nil {
		return err
	}
	d.Moment = v.note(past.Retained{From: answer.From, Purged: answer.Purged}, answer.Known, "for a time no records were kept")
	if d.Moment.Text == pastText {
		d.Moment.Text = "Made from the history, which has the waits that are over: those shown ended within the hour that followed."
	}
	if answer.Incomplete {
		d.Moment.Text += " There were more records than a page reads: some waits may be missing."
	}
	d.Total = len(answer.Waits)
	for _, w := range answer.Waits[:min(len(answer.Waits), pageRows)] {
		shown := pastWait{Wait: w, Labels: []string{w.Resource}, Waited: v.at.Sub(w.Since).Seconds()}
		if len(w.Claims) > 0 {
			shown.Labels = claimTexts(w.Claims)
		}
		d.Past = append(d.Past, shown)
	}
	return nil
}

// note says where the history that is kept begins, and what it cannot say.
func (v *visit) note(kept past.Retained, known past.Known, why string) *momentNote {
	n := &momentNote{Text: pastText}
	if known != past.Certain {
		n.Text = "This is not certain: " + cmp.Or(why, "no records were kept at the time") + "."
	}
	if kept.Incomplete {
		n.Text += fmt.Sprintf(" There were more records than a page reads, which went back to %s: leases that began before may be missing. Filter by name.", dayText(kept.ReadTo))
	}
	first, err := v.s.first.get(firstLife, v.firstRecord)
	if err != nil && err != errEmpty {
		return n
	}
	if n.First = first; first.Before(kept.From) {
		n.First = kept.From
	}
	switch {
	case first.IsZero():
		n.unknown, n.Text = true, "Nothing is known of this moment: the history is empty."
	case v.at.Before(n.First):
		n.unknown, n.Text = true, "Nothing is known of this moment: it lies before the history that is kept."
	}
	return n
}

// errEmpty says that there are no records. It is not remembered: the first may come at
// once.
var errEmpty = errors.New("the history is empty")

// firstLife is how long the beginning of the history is remembered.
const firstLife = 2 * time.Second

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
	if oldest.IsZero() {
		return oldest, errEmpty
	}
	return oldest, nil
}

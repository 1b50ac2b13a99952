package past_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
)

// records is a history, oldest first, of a store that answers pages of pageSize.
type records []leasehold.Record

const pageSize = 2

func (all records) History(_ context.Context, q leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	var page leasehold.HistoryPage
	below := uint64(1 << 60)
	if q.Cursor != "" {
		below = uint64(q.Cursor[0])
	}
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if r.Seq >= below || q.Resource != "" && r.Resource != q.Resource || !strings.HasPrefix(r.Resource, q.Prefix) ||
			q.Kind != "" && r.Kind != q.Kind || !q.Since.IsZero() && r.At.Before(q.Since) || !q.Until.IsZero() && !r.At.Before(q.Until) {
			continue
		}
		if len(page.Records) == min(pageSize, q.Limit) {
			page.Cursor = string(rune(page.Records[len(page.Records)-1].Seq))
			break
		}
		page.Records = append(page.Records, r)
	}
	return page, nil
}

func second(s float64) time.Time {
	return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

// record is one of the resource r.
func record(seq uint64, s float64, kind leasehold.Kind, token uint64, before, after leasehold.State, details ...string) leasehold.Record {
	r := leasehold.Record{Seq: seq, At: second(s), Kind: kind, Resource: "r", Holder: "h", Token: token, Before: before, After: after}
	for i := 0; i < len(details); i += 2 {
		if r.Details == nil {
			r.Details = map[string]string{}
		}
		r.Details[details[i]] = details[i+1]
	}
	if kind == leasehold.KindConfigured || kind == leasehold.KindPurged {
		r.Resource = ""
	}
	return r
}

const (
	none   = leasehold.StateAvailable
	active = leasehold.StateActive
	breaks = leasehold.StateBreaking
	ended  = leasehold.StateExpired
)

func TestOneMoment(t *testing.T) {
	acquired := record(1, 10, leasehold.KindAcquired, 7, none, active, "ends_in_ms", "5000")
	silent := record(1, 10, leasehold.KindAcquired, 7, none, active) // of a store that does not say
	off := record(2, 11, leasehold.KindConfigured, 0, none, none, "key", leasehold.SettingHistoryRenewals, "value", "false", "before", "true")
	allOff := record(2, 11, leasehold.KindConfigured, 0, none, none, "key", leasehold.SettingKeepHistory, "value", "false", "before", "true")
	onAgain := record(3, 30, leasehold.KindConfigured, 0, none, none, "key", leasehold.SettingKeepHistory, "value", "true", "before", "false")
	for _, c := range []struct {
		name  string
		all   records
		at    float64
		known past.Known
		live  bool
		why   string
	}{
		{"before the first record", records{acquired}, 9, past.Certain, false, ""},
		{"held", records{acquired}, 14.999, past.Certain, true, ""},
		{"past its end, with no record", records{acquired}, 15, past.Certain, false, ""},
		{"past its end, whose record is late and says when", records{acquired,
			record(2, 40, leasehold.KindExpired, 7, active, ended, "ended_ms_ago", "25000")}, 16, past.Certain, false, ""},
		{"past its planned end, but the clock was set forward", records{acquired,
			record(2, 40, leasehold.KindReleased, 7, active, leasehold.StateReleased)}, 16, past.Certain, true, ""},
		{"past its end while it was breaking", records{acquired,
			record(2, 11, leasehold.KindBreaking, 7, active, breaks, "ends_in_ms", "1000")}, 13, past.Certain, false, ""},
		{"without an end in its records", records{silent}, 14, past.Uncertain, true, "when it was to end"},
		{"without an end, and it ended some time", records{silent,
			record(2, 20, leasehold.KindAcquired, 8, none, active)}, 14, past.Uncertain, true, "no record says when"},
		{"without an end, and found live later", records{silent,
			record(2, 20, leasehold.KindRenewed, 7, active, active)}, 14, past.Certain, true, ""},
		{"a renewal that does not say", records{acquired,
			record(2, 12, leasehold.KindRenewed, 7, active, active)}, 13, past.Uncertain, true, "when it was to end"},
		{"renewals were off", records{acquired, off}, 16, past.Uncertain, true, "may have been renewed"},
		{"renewals were off, and it was found live later", records{acquired, off,
			record(3, 90, leasehold.KindReleased, 7, active, leasehold.StateReleased)}, 16, past.Certain, true, ""},
		{"history was off", records{acquired, allOff, onAgain}, 14, past.Uncertain, true, "no records were kept"},
		{"history was off after it ended", records{acquired,
			record(2, 10.5, leasehold.KindReleased, 7, active, leasehold.StateReleased), allOff, onAgain}, 14, past.Uncertain, false, "no records were kept"},
		{"history was off, and it was found live later", records{acquired, allOff, onAgain,
			record(4, 90, leasehold.KindReleased, 7, active, leasehold.StateReleased)}, 14, past.Certain, true, ""},
		{"history was off before the first record of it", records{allOff, onAgain}, 40, past.Uncertain, false, "none were kept"},
		{"purged", records{record(5, 50, leasehold.KindPurged, 0, none, none)}, 14, past.NotRetained, false, "begins later"},
		{"purged, and nothing of it is left", records{record(5, 50, leasehold.KindPurged, 0, none, none)}, 60, past.NotRetained, false, "older ones were purged"},
		{"purged, and found live later", records{record(5, 50, leasehold.KindPurged, 0, none, none),
			record(6, 70, leasehold.KindTransferred, 8, active, active, "from", "h")}, 60, past.Certain, true, ""},
		{"renewals were off, and much happened later", records{acquired, off,
			record(3, 30, leasehold.KindReleased, 7, active, leasehold.StateReleased),
			record(4, 300, leasehold.KindAcquired, 8, none, active)}, 16, past.Certain, true, ""},
		{"the clock was set back after it ended", records{acquired,
			record(2, 12, leasehold.KindReleased, 7, active, leasehold.StateReleased),
			record(3, 5, leasehold.KindAcquired, 8, none, active, "ends_in_ms", "60000")}, 6, past.Certain, true, ""},
	} {
		a, err := past.Resource(t.Context(), c.all, "r", second(c.at), nil)
		if err != nil || a.Known != c.known || a.Locked() != c.live || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: Resource = %+v, %v; want %s (%q), live: %v", c.name, a, err, c.known, c.why, c.live)
		}
	}
}

// A lease is held from the moment of its grant to just before its end; of records with
// the same time the last one counts.
func TestBorders(t *testing.T) {
	all := records{record(1, 10, leasehold.KindAcquired, 7, none, active, "ends_in_ms", "5000"),
		record(2, 12, leasehold.KindReleased, 7, active, leasehold.StateReleased),
		record(3, 12, leasehold.KindAcquired, 8, leasehold.StateReleased, active, "ends_in_ms", "5000")}
	for at, token := range map[float64]uint64{9.999: 0, 10: 7, 11.999: 7, 12: 8, 16.999: 8, 17: 0} {
		a, err := past.Resource(t.Context(), all, "r", second(at), nil)
		p, tableErr := past.Table(t.Context(), all, past.TableRequest{Time: second(at)}, nil)
		for _, leases := range [][]past.Lease{a.Leases, p.Leases} {
			var got uint64
			if len(leases) > 0 {
				got = leases[0].Token
			}
			if err != nil || tableErr != nil || got != token || len(leases) > 1 {
				t.Errorf("at %v it says %+v, %v, %v; want the lease %d", at, leases, err, tableErr, token)
			}
		}
	}
}

// The record that decides is the next one after the moment, also where later ones are
// read for the waits in them.
func TestNextRecordDecides(t *testing.T) {
	all := records{record(5, 50, leasehold.KindPurged, 0, none, none),
		record(6, 70, leasehold.KindReleased, 8, active, leasehold.StateReleased),
		record(7, 71, leasehold.KindAcquired, 9, none, active, "ends_in_ms", "-1"),
		record(8, 300, leasehold.KindReleased, 9, active, leasehold.StateReleased)}
	a, err := past.Resource(t.Context(), all, "r", second(60), nil)
	if err != nil || len(a.Leases) != 1 || a.Leases[0].Token != 8 {
		t.Errorf("Resource = %+v, %v; want the lease 8", a, err)
	}
}

// A break in a time without records makes a lease breaking only where it may have been
// before the moment, and then that is not certain.
func TestBreakWithoutRecord(t *testing.T) {
	off := func(seq uint64, s float64, value, before string) leasehold.Record {
		return record(seq, s, leasehold.KindConfigured, 0, none, none, "key", leasehold.SettingKeepHistory, "value", value, "before", before)
	}
	all := records{record(1, 10, leasehold.KindAcquired, 7, none, active, "ends_in_ms", "-1"),
		off(2, 30, "false", "true"), off(3, 50, "true", "false"),
		record(4, 90, leasehold.KindReleased, 7, breaks, leasehold.StateReleased)}
	for at, want := range map[float64]past.Lease{20: {State: active, Known: past.Certain}, 40: {State: breaks, Known: past.Uncertain}} {
		a, err := past.Resource(t.Context(), all, "r", second(at), nil)
		if err != nil || len(a.Leases) != 1 || a.Leases[0].State != want.State || a.Leases[0].Known != want.Known {
			t.Errorf("Resource at %v = %+v, %v; want %s, %s", at, a, err, want.State, want.Known)
		}
	}
}

// A wait shows from its start to just before its end, with what it was for.
func TestWaiting(t *testing.T) {
	failed := record(3, 30, leasehold.KindFailed, 0, none, none, "waited_ms", "20000", "claims", `[{"namespace":"ns","pattern":"a","mode":"exclusive"}]`)
	all := records{record(1, 5, leasehold.KindAcquired, 7, none, active),
		record(2, 20, leasehold.KindAcquired, 8, none, active, "waited_ms", "15000"), failed,
		record(4, 4000, leasehold.KindAcquired, 9, none, active, "waited_ms", "3999000")}
	const first, later = "r[]true;", "r[ns a]false;"
	for at, want := range map[float64]string{4: "", 5: first, 9: first, 10: first + later, 19.999: first + later, 20: later, 29.999: later, 30: ""} {
		w, err := past.Waiting(t.Context(), all, second(at), nil)
		got := ""
		for _, each := range w.Waits {
			got += fmt.Sprintf("%s%v%v;", each.Resource, each.Claims, each.Granted)
		}
		if err != nil || got != want || w.Known != past.Certain {
			t.Errorf("Waiting at %v = %+v, %v; want %q", at, w, err, want)
		}
	}
}

// What may be read is bounded, and an answer that needed more says so.
func TestBudget(t *testing.T) {
	var all records
	for i := range 20 {
		r := record(uint64(i+1), float64(i), leasehold.KindAcquired, uint64(i+1), none, active, "ends_in_ms", "-1")
		r.Resource = string(rune('a' + i))
		all = append(all, r)
	}
	p, err := past.Table(t.Context(), all, past.TableRequest{Time: second(60)}, &past.Options{Pages: 5})
	if err != nil || !p.Incomplete || len(p.Leases) == 0 || len(p.Leases) >= 20 || p.ReadTo.IsZero() {
		t.Errorf("Table of 5 pages = %d leases, incomplete: %v, read to %v, %v; want some and incomplete", len(p.Leases), p.Incomplete, p.ReadTo, err)
	}
	p, err = past.Table(t.Context(), all, past.TableRequest{Time: second(60), Limit: 7}, nil)
	if err != nil || p.Incomplete || len(p.Leases) != 7 || p.Cursor == "" {
		t.Errorf("Table of 7 = %d leases, incomplete: %v, cursor %q, %v", len(p.Leases), p.Incomplete, p.Cursor, err)
	}
	if _, err := past.Table(t.Context(), all, past.TableRequest{Time: second(60), Cursor: "x"}, nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Table with a strange cursor = %v, want ErrInvalid", err)
	}
	if _, err := past.Table(t.Context(), all, past.TableRequest{}, nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Table of no time = %v, want ErrInvalid", err)
	}
	if _, err := past.Resource(t.Context(), all, "a", time.Now().Add(time.Hour), nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Resource of the future = %v, want ErrInvalid", err)
	}
	if _, err := past.Resource(t.Context(), all, "", second(1), nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Resource of no name = %v, want ErrInvalid", err)
	}
}

// A path is found in sets, and a holder is the one of the moment.
func TestTableFilters(t *testing.T) {
	set := record(1, 1, leasehold.KindAcquired, 7, none, active, "ends_in_ms", "-1", "claims", `[{"namespace":"ns","pattern":"src/**","mode":"exclusive"}]`)
	set.Resource = "__set__7"
	moved := record(2, 5, leasehold.KindTransferred, 8, active, active, "ends_in_ms", "-1", "from", "h")
	moved.Resource, moved.Holder = "__set__7", "i"
	all := records{set, moved}
	for _, c := range []struct {
		q    past.TableRequest
		want int
	}{
		{past.TableRequest{Time: second(3), Namespace: "ns", Path: "src/a.go"}, 1},
		{past.TableRequest{Time: second(9), Namespace: "ns", Path: "src/a.go"}, 1},
		{past.TableRequest{Time: second(9), Namespace: "ns", Path: "docs/a.md"}, 0},
		{past.TableRequest{Time: second(9), Namespace: "other"}, 0},
		{past.TableRequest{Time: second(3), Holder: "h"}, 1},
		{past.TableRequest{Time: second(9), Holder: "h"}, 0},
		{past.TableRequest{Time: second(9), Holder: "i"}, 1},
	} {
		p, err := past.Table(t.Context(), all, c.q, nil)
		if err != nil || len(p.Leases) != c.want {
			t.Errorf("Table(%+v) = %+v, %v, want %d leases", c.q, p.Leases, err, c.want)
		}
	}
}

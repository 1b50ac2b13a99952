package local

import (
	"errors"
	"testing"

	"github.com/leasehold/leasehold"
)

// Whatever arrives as a cursor is one of ours or ErrInvalid, never a panic, and
// never a place that a cursor of ours could not name.
func FuzzCursor(f *testing.F) {
	f.Add(cursor("l", "prod:us:**"))
	f.Add(cursor("h", "42"))
	f.Add(cursor("h", "-1"))
	f.Add("=")
	f.Add("bDpcMA")
	f.Fuzz(func(t *testing.T, c string) {
		l, err := newListing(leasehold.ListRequest{Cursor: c})
		switch {
		case err != nil && !errors.Is(err, leasehold.ErrInvalid):
			t.Errorf("newListing(%q) = %v, want ErrInvalid", c, err)
		case err == nil && c != "" && cursor("l", l.from) != c:
			t.Errorf("newListing(%q) starts at %q, whose cursor is %q", c, l.from, cursor("l", l.from))
		}
		q, err := historyQuery(leasehold.HistoryRequest{Cursor: c})
		if err != nil && !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("historyQuery(%q) = %v, want ErrInvalid", c, err)
		}
		if err == nil && c == "" && q.Below != 0 {
			t.Errorf("historyQuery without a cursor starts below %d", q.Below)
		}
	})
}

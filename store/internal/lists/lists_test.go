package lists_test

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// A cursor is what Cursor made, or an invalid request.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "x", "AAAA", "cgAAAAA", lists.Cursor("orders/1")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, c string) {
		name, err := lists.ParseCursor(c)
		switch {
		case err != nil && leasehold.ReasonOf(err) != leasehold.ReasonInvalid:
			t.Errorf("ParseCursor(%q) = %v, want an invalid request", c, err)
		case err == nil && (name == "" || lists.Cursor(name) != c):
			t.Errorf("ParseCursor(%q) = %q, whose cursor is %q", c, name, lists.Cursor(name))
		}
		if c == "" {
			return
		}
		if got, err := lists.ParseCursor(lists.Cursor(c)); err != nil || got != c {
			t.Errorf("the cursor of %q is read as %q, %v", c, got, err)
		}
	})
}

func TestMatches(t *testing.T) {
	blue := map[string]string{"color": "blue"}
	for _, c := range []struct {
		name     string
		request  leasehold.ListRequest
		state    leasehold.State
		metadata map[string]string
		want     bool
	}{
		{"live", leasehold.ListRequest{}, leasehold.StateActive, nil, true},
		{"ended, and no state named", leasehold.ListRequest{}, leasehold.StateExpired, nil, false},
		{"ended, and named", leasehold.ListRequest{States: []leasehold.State{leasehold.StateExpired}}, leasehold.StateExpired, nil, true},
		{"live, and another named", leasehold.ListRequest{States: []leasehold.State{leasehold.StateExpired}}, leasehold.StateActive, nil, false},
		{"no lease, even if named", leasehold.ListRequest{States: []leasehold.State{leasehold.StateAvailable}}, leasehold.StateAvailable, nil, false},
		{"its metadata", leasehold.ListRequest{Metadata: blue}, leasehold.StateActive, map[string]string{"color": "blue", "size": "1"}, true},
		{"other metadata", leasehold.ListRequest{Metadata: blue}, leasehold.StateActive, map[string]string{"color": "red"}, false},
		{"an empty value is not a missing one", leasehold.ListRequest{Metadata: map[string]string{"color": ""}}, leasehold.StateActive, nil, false},
	} {
		if got := lists.Matches(c.request, c.state, c.metadata); got != c.want {
			t.Errorf("%s: Matches = %v, want %v", c.name, got, c.want)
		}
	}
}

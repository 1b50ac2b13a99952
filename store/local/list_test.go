package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// A list of several steps is complete, whatever the page size, and a filter that
// matches little still ends.
func TestListInSteps(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		const many = 2*stepSize + 3
		var want []string
		for i := range many {
			name := fmt.Sprintf("r%05d", i)
			want = append(want, name)
			acquire(t, e, name, fmt.Sprint("h", i%2), time.Hour)
		}
		for _, r := range []leasehold.ListRequest{{Limit: 1000}, {Limit: 7}, {Prefix: "r", Limit: 333}} {
			if got := listAll(t, e, r); !slices.Equal(got, want) {
				t.Errorf("List(%+v) gave %d names, want %d", r, len(got), len(want))
			}
		}
		if got := listAll(t, e, leasehold.ListRequest{Holder: "h1", Limit: 100}); len(got) != many/2 {
			t.Errorf("List of h1 gave %d, want %d", len(got), many/2)
		}
		if got := listAll(t, e, leasehold.ListRequest{Metadata: map[string]string{"a": "b"}}); len(got) != 0 {
			t.Errorf("List by metadata that nobody has gave %v", got)
		}
		if got := listAll(t, e, leasehold.ListRequest{Resource: want[stepSize]}); !slices.Equal(got, want[stepSize:stepSize+1]) {
			t.Errorf("List of one resource gave %v", got)
		}
	})
}

func listAll(t *testing.T, e *Engine, r leasehold.ListRequest) (names []string) {
	t.Helper()
	for {
		page, err := e.List(t.Context(), r)
		if err != nil {
			t.Fatalf("List(%+v) = %v", r, err)
		}
		for _, l := range page.Leases {
			names = append(names, l.Resource)
		}
		if r.Cursor = page.Cursor; r.Cursor == "" {
			return names
		}
	}
}

// Lists wait for their turn; grants have none to wait for.
func TestListsTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		over := make(chan struct{})
		for range runtime.GOMAXPROCS(0) { // all turns there are
			go e.lists.Do(t.Context(), func() error { <-over; return nil })
		}
		synctest.Wait()
		listed := make(chan error, 1)
		go func() {
			_, err := e.List(t.Context(), leasehold.ListRequest{})
			listed <- err
		}()
		synctest.Wait()
		release(t, e, acquire(t, e, "r", "a", time.Hour))
		select {
		case err := <-listed:
			t.Errorf("List = %v before its turn", err)
		default:
		}
		close(over)
		if err := <-listed; err != nil {
			t.Errorf("List = %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.List(ctx, leasehold.ListRequest{})
		wantReason(t, "List of a caller that left", err, leasehold.ReasonUnavailable)
	})
}

// FuzzCursor: a cursor is one that a page returned or ErrInvalid, never a panic.
func FuzzCursor(f *testing.F) {
	f.Add(lists.CursorOf("l", "prod:us:**"))
	f.Add(lists.CursorOf("h", "42"))
	f.Add(lists.CursorOf("h", "-1"))
	f.Add("=")
	f.Add("bDpcMA")
	f.Fuzz(func(t *testing.T, c string) {
		l, err := newListing(leasehold.ListRequest{Cursor: c})
		switch {
		case err != nil && !errors.Is(err, leasehold.ErrInvalid):
			t.Errorf("newListing(%q) = %v, want ErrInvalid", c, err)
		case err == nil && c != "" && lists.CursorOf("l", l.from) != c:
			t.Errorf("newListing(%q) starts at %q, whose cursor is %q", c, l.from, lists.CursorOf("l", l.from))
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

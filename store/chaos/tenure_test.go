package chaos_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// tenure is the time in which a holder relies on a lease: from the moment Acquire
// returns it to the end of its context, or to its release.
type tenure struct {
	resource, holder string
	token            uint64
	from, to         time.Time
	lost             bool
}

// tenures collects them.
type tenures struct {
	mu  sync.Mutex
	all []tenure
}

func (ts *tenures) add(t tenure) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = append(ts.all, t)
}

// overlaps returns a line for each pair that breaks mutual exclusion. A release
// and the next grant may be one moment; a loss and the next grant may not.
func (ts *tenures) overlaps() (broken []string) {
	slices.SortFunc(ts.all, func(a, b tenure) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.token, b.token))
	})
	for i, b := range ts.all[min(1, len(ts.all)):] {
		a := ts.all[i]
		switch {
		case a.resource != b.resource:
		case a.token == b.token:
			broken = append(broken, fmt.Sprintf("%s: token %d twice, %s and %s", a.resource, a.token, a.holder, b.holder))
		case a.to.After(b.from), a.lost && !a.to.Before(b.from):
			broken = append(broken, fmt.Sprintf("%s: %s (token %d, lost: %t) until %v, %s (token %d) from %v",
				a.resource, a.holder, a.token, a.lost, a.to, b.holder, b.token, b.from))
		}
	}
	return broken
}

// The check can fail.
func TestOverlapsAreFound(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	tests := []struct {
		name string
		all  []tenure
		want int
	}{
		{"none", nil, 0},
		{"one after the other", []tenure{{"r", "a", 1, at(0), at(5), true}, {"r", "b", 2, at(6), at(9), false}}, 0},
		{"released and granted at once", []tenure{{"r", "a", 1, at(0), at(5), false}, {"r", "b", 2, at(5), at(9), false}}, 0},
		{"lost and granted at once", []tenure{{"r", "a", 1, at(0), at(5), true}, {"r", "b", 2, at(5), at(9), false}}, 1},
		{"two at a time", []tenure{{"r", "b", 2, at(4), at(9), false}, {"r", "a", 1, at(0), at(5), false}}, 1},
		{"a newer token earlier", []tenure{{"r", "a", 1, at(7), at(8), false}, {"r", "b", 2, at(4), at(5), false}}, 1},
		{"a token twice", []tenure{{"r", "a", 1, at(0), at(1), false}, {"r", "b", 1, at(4), at(5), false}}, 1},
		{"two resources", []tenure{{"r", "a", 1, at(0), at(5), false}, {"q", "b", 2, at(4), at(9), false}}, 0},
	}
	for _, tt := range tests {
		if got := (&tenures{all: tt.all}).overlaps(); len(got) != tt.want {
			t.Errorf("%s: overlaps() = %v, want %d", tt.name, got, tt.want)
		}
	}
}

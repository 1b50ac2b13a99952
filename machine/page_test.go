package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// page is a specification's table as text: operations down, states across.
type page struct {
	states []string
	rows   []pageRow
}

type pageRow struct {
	operation string
	cells     []string // one for each state
}

func (p page) count() int { return len(p.states) * len(p.rows) }

// readPage reads a table. A row with a cell too few or too many is a mistake
// in the test, and so is an operation that stands there twice.
func readPage(t *testing.T, text string) page {
	t.Helper()
	var p page
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if p.states == nil {
			p.states = fields[1:]
			continue
		}
		if len(fields) != len(p.states)+1 {
			t.Fatalf("row %q has %d cells, want %d", fields[0], len(fields)-1, len(p.states))
		}
		if seen[fields[0]] {
			t.Fatalf("row %q stands twice", fields[0])
		}
		seen[fields[0]] = true
		p.rows = append(p.rows, pageRow{fields[0], fields[1:]})
	}
	return p
}

// each calls check for every cell and every form of its state.
func (p page) each(t *testing.T, forms func(*testing.T, string) []form, check func(t *testing.T, operation string, f form, cell string)) {
	for _, r := range p.rows {
		for i, state := range p.states {
			for _, f := range forms(t, state) {
				t.Run(r.operation+"/"+state+"/"+f.name, func(t *testing.T) {
					check(t, r.operation, f, choose(r.cells[i], f.name))
				})
			}
		}
	}
}

// choose picks the part of a cell that is about this form of the state, where
// the cell reads "this; infinite: that".
func choose(cell, form string) string {
	general, special, _ := strings.Cut(cell, "; infinite: ")
	if special != "" && form == "infinite" {
		return special
	}
	return general
}

// A cell that grants something reads
//
//	state(id)  new|same token  time left  record  [again]
//
// as in "active(A) same ttl renewed": the lease that A opens is active, under
// its old token, with all of its ttl before it, and the history says "renewed".
// The record "-" means that nothing is written; "again" marks the outcome as a
// repetition. Any other cell is the reason of a refusal.
func verifyCell(t *testing.T, f form, o machine.Outcome, cell string) {
	t.Helper()
	want := strings.Fields(cell)
	if len(want) == 1 {
		verifyRefusal(t, f.row, o, leasehold.Reason(want[0]))
		return
	}
	if o.Reason != "" {
		t.Fatalf("refused: %s, want %s", o.Reason, cell)
	}
	got := fmt.Sprintf("%s(%s) %s %s %s", o.Row.State, nameOf(o.Row.ID), tokenWord(o), timeWord(f.row, o.Row, want[2]), recordWord(f.row, o))
	if o.Idempotent {
		got += " again"
	}
	if want := strings.Join(want, " "); got != want {
		t.Errorf("answered: %s, want %s", got, want)
	}
	verifySettled(t, f.row, o)
}

func tokenWord(o machine.Outcome) string {
	switch {
	case o.Row.Token == oldToken && !o.Granted:
		return "same"
	case o.Row.Token == newToken && o.Granted:
		return "new"
	}
	return fmt.Sprintf("token %d (granted: %t)", o.Row.Token, o.Granted)
}

// timeWord answers the wanted word if it is true, and otherwise the time.
func timeWord(before, after machine.Row, want string) string {
	had, has := before.Remaining(now), after.Remaining(now)
	fits := false
	switch {
	case want == "over":
		fits = has == 0
	case want == "kept":
		fits = has == had && after.Ends == before.Ends
	case want == "ttl":
		fits = has == before.TTL
	case strings.HasPrefix(want, "min("):
		n := parseTime(want[len("min(") : len(want)-1])
		fits = has == n && (had >= n || had == leasehold.Infinite) || has == had && had < n
	default:
		fits = has == parseTime(want)
	}
	if fits {
		return want
	}
	return fmt.Sprintf("%v (before: %v)", has, had)
}

func parseTime(s string) time.Duration {
	if s == "infinite" {
		return leasehold.Infinite
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

// recordWord is the record that the operation itself leaves.
func recordWord(before machine.Row, o machine.Outcome) string {
	steps := o.Steps[len(machine.Expire(now, before).Steps):]
	switch {
	case len(steps) == 0:
		return "-"
	case len(steps) > 1:
		return fmt.Sprintf("%d records", len(steps))
	}
	return string(steps[0].Kind)
}

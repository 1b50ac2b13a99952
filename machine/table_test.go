package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// table is a specification's table as text: operations down, states across.
type table struct {
	states []string
	rows   []tableRow
}

type tableRow struct {
	operation string
	cells     []string // one for each state
}

func (tab table) count() int { return len(tab.states) * len(tab.rows) }

// readTable reads a table. A row with a cell too few or too many is a mistake
// in the test, and so is an operation that stands there twice.
func readTable(t *testing.T, text string) table {
	t.Helper()
	var tab table
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if tab.states == nil {
			tab.states = fields[1:]
			continue
		}
		if len(fields) != len(tab.states)+1 {
			t.Fatalf("row %q has %d cells, want %d", fields[0], len(fields)-1, len(tab.states))
		}
		if seen[fields[0]] {
			t.Fatalf("row %q stands twice", fields[0])
		}
		seen[fields[0]] = true
		tab.rows = append(tab.rows, tableRow{fields[0], fields[1:]})
	}
	return tab
}

// each calls check for every cell and every variant of its state.
func (tab table) each(t *testing.T, variants func(*testing.T, string) []variant, check func(t *testing.T, operation string, f variant, cell string)) {
	for _, r := range tab.rows {
		for i, state := range tab.states {
			for _, f := range variants(t, state) {
				t.Run(r.operation+"/"+state+"/"+f.name, func(t *testing.T) {
					check(t, r.operation, f, choose(r.cells[i], f.name))
				})
			}
		}
	}
}

// choose picks the part of a cell that is about this variant of the state, where
// the cell reads "this; infinite: that".
func choose(cell, variant string) string {
	general, special, _ := strings.Cut(cell, "; infinite: ")
	if special != "" && variant == "infinite" {
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
func verifyCell(t *testing.T, f variant, o machine.Outcome, cell string) {
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
	verifySteps(t, f.row, o)
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

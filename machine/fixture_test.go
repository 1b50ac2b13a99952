package machine_test

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// The ids of every table: A is the id on record, F the one before it, X the
// one that the store would make; B and C are strangers. L, R, E, K and G are
// known from other resources: live, released, expired, broken, and given up in
// a change.
var ids = map[string]leasehold.ID{
	"none": {}, "A": {0xa}, "B": {0xb}, "C": {0xc}, "F": {0xf}, "X": {0x1},
	"L": {0x2}, "R": {0x3}, "E": {0x4}, "K": {0x5}, "G": {0x6},
}

// nameOf prints an id by its name in ids.
func nameOf(id leasehold.ID) string {
	for name, known := range ids {
		if known == id {
			return name
		}
	}
	return "a stranger"
}

const (
	resource = "job"
	holder   = "ann"
	rival    = "bob"

	oldToken = uint64(7) // of the row in the table
	newToken = uint64(8) // of the next grant

	longTTL   = 60 * time.Second // of the row in the table
	askedTTL  = 30 * time.Second // of a request that sends one
	left      = 40 * time.Second // until an active lease ends
	breakLeft = 25 * time.Second // until a breaking lease ends
	agoEnded  = 10 * time.Second // since an ended one did
)

var (
	now   = machine.Instant{Clock: machine.Time(1000 * time.Hour), Wall: 1_700_000_000_000}
	fresh = machine.Fresh{Token: newToken, ID: ids["X"]}
)

// variant is one way in which a row can stand in a state.
type variant struct {
	name string
	row  machine.Row
}

// variants returns every way to stand in a state, given by the word in the table's
// header. An ended lease may have been written down or not: that must make no
// difference to the answer.
func variants(t *testing.T, state string) []variant {
	t.Helper()
	switch state {
	case "available":
		return []variant{{"never leased", machine.Row{Resource: resource}}}
	case "active", "leased(A)":
		return []variant{
			{"fixed", rowIn(leasehold.StateActive, left)},
			{"infinite", infinite(rowIn(leasehold.StateActive, left))},
			{"last nanosecond", rowIn(leasehold.StateActive, 1)},
		}
	case "breaking", "breaking(A)":
		return []variant{{"fixed", rowIn(leasehold.StateBreaking, breakLeft)}}
	case "released":
		return []variant{{"written", rowIn(leasehold.StateReleased, -agoEnded)}}
	case "expired", "expired(A)":
		return endedVariants(leasehold.StateExpired, leasehold.StateActive)
	case "broken", "broken(A)":
		return endedVariants(leasehold.StateBroken, leasehold.StateBreaking)
	}
	t.Fatalf("the table has a column %q that no fixture knows", state)
	return nil
}

func endedVariants(written, due leasehold.State) []variant {
	return []variant{
		{"written", rowIn(written, -agoEnded)},
		{"due", rowIn(due, -agoEnded)},
		{"due this instant", rowIn(due, 0)},
	}
}

// rowIn is A's row in a state, with its end so far from now.
func rowIn(state leasehold.State, end time.Duration) machine.Row {
	row := machine.Row{
		Resource:    resource,
		Holder:      holder,
		ID:          ids["A"],
		Token:       oldToken,
		State:       state,
		TTL:         longTTL,
		Ends:        now.Clock + machine.Time(end),
		Acquired:    now.Wall - 50_000,
		Renewed:     now.Wall - 20_000,
		Renewals:    2,
		MaxRenewals: leasehold.Unlimited,
	}
	if state.Locked() {
		row.Metadata = map[string]string{"colour": "red"}
	}
	return row
}

func infinite(r machine.Row) machine.Row {
	r.TTL, r.Ends = leasehold.Infinite, machine.Never
	return r
}

// elsewhere is the row of another resource by which the store knows an id, or
// nil. G is what its lease was called before a change.
func elsewhere(id string) *machine.Row {
	row := rowIn(leasehold.StateActive, left)
	row.Resource, row.Holder, row.ID, row.Token = "other job", "cyd", ids[id], 5
	switch id {
	case "L":
	case "R":
		row.State, row.Ends, row.Metadata = leasehold.StateReleased, now.Clock-1, nil
	case "E": // due, and nobody has written it down
		row.Ends = now.Clock
	case "K":
		row.State, row.Ends = leasehold.StateBreaking, now.Clock
	case "G":
		row.ID, row.Former = ids["C"], ids["G"]
	default:
		return nil
	}
	return &row
}

// knownBy is what a store would look up for a proposed id.
func knownBy(row machine.Row, id string) *machine.Row {
	if want := ids[id]; !want.IsZero() && (row.ID == want || row.Former == want) {
		return &row
	}
	return elsewhere(id)
}

func unlimited() *int { return new(leasehold.Unlimited) }

func period(d time.Duration) *time.Duration { return &d }

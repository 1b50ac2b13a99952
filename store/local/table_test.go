package local

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Whatever is put and dropped, in whatever order, every index agrees with the
// rows.
func TestTableIndexesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable()
		id := uint64(0)
		draw := func(n int, what string) int { return rapid.IntRange(0, n).Draw(t, what) }
		for range draw(60, "steps") {
			name := fmt.Sprint("r", draw(7, "resource"))
			e := tb.rows[name]
			switch draw(5, "operation") {
			case 0:
				if e != nil {
					tb.drop(e)
				}
			case 1:
				if e != nil && e.due >= 0 {
					tb.lapse(e)
				}
			default:
				id++
				row := machine.Row{
					Resource: name,
					Holder:   fmt.Sprint("h", draw(3, "holder")),
					State:    leasehold.State(1 + draw(4, "state")),
					Ends:     machine.Time(draw(100, "end")),
					Scoped:   draw(5, "scoped") == 0,
					Caller:   []string{"", "a", "b"}[draw(2, "caller")],
				}
				row.ID[0], row.ID[1] = byte(id), byte(id>>8)
				if draw(3, "infinite") == 0 {
					row.Ends = machine.Never
				}
				if draw(3, "former") == 0 && e != nil {
					row.Former = e.row.ID
				}
				tb.put(row)
			}
			checkTable(t, tb)
		}
		var order []machine.Time
		for tb.due.Len() > 0 {
			order = append(order, tb.due.First().row.Ends)
			tb.unschedule(tb.due.First())
		}
		if !slices.IsSorted(order) {
			t.Fatalf("the heap gives ends in the order %v", order)
		}
	})
}

func TestKnownIgnoresScopedAndZeroIDs(t *testing.T) {
	tb := newTable()
	scoped := machine.Row{Resource: "blob", State: leasehold.StateActive, ID: leasehold.NewID(), Scoped: true}
	tb.put(scoped)
	if tb.known(scoped.ID) != nil {
		t.Error("a scoped id was found without its resource")
	}
	if tb.known(leasehold.ID{}) != nil {
		t.Error("the zero id was found")
	}
}

func TestSortEndedAfterLoad(t *testing.T) {
	tb := newTable()
	for i, end := range []machine.Time{30, 10, 20} {
		tb.put(machine.Row{Resource: fmt.Sprint(i), State: leasehold.StateReleased, Ends: end, ID: leasehold.NewID()})
	}
	tb.sortEnded()
	var ends []machine.Time
	for e := tb.ended.head; e != nil; e = e.next {
		ends = append(ends, e.row.Ends)
	}
	if !slices.Equal(ends, []machine.Time{10, 20, 30}) {
		t.Errorf("ended by end = %v, want 10, 20, 30", ends)
	}
	checkTable(t, tb)
}

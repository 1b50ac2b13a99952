package known

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// A row is in hand for half a second, and once.
func TestRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Writes[string]
		if _, _, ok := w.Pop("r"); ok {
			t.Error("a row is in hand that was never written")
		}
		w.Put("r", leasehold.ID{}, "first")
		w.Put("r", leasehold.ID{}, "second")
		time.Sleep(inHandFor - 1)
		if row, age, ok := w.Pop("r"); row != "second" || age != inHandFor-1 || !ok {
			t.Errorf("Pop = %q, %v, %v; want the second, just in time", row, age, ok)
		}
		if _, _, ok := w.Pop("r"); ok {
			t.Error("a row is in hand twice")
		}
		w.Put("r", leasehold.ID{}, "third")
		time.Sleep(inHandFor)
		if _, _, ok := w.Pop("r"); ok {
			t.Error("a row is in hand for too long")
		}
	})
}

func TestRowsAreBounded(t *testing.T) {
	var w Writes[int]
	for i := range 3*maxRows + 1 {
		w.Put(strconv.Itoa(i), leasehold.ID{}, i)
		if len(w.rows) > maxRows {
			t.Fatalf("%d rows are in hand, want at most %d", len(w.rows), maxRows)
		}
	}
	if len(w.ids) != 0 {
		t.Errorf("%d ids of zero are known", len(w.ids))
	}
}

// The last ids are known in their last place; the oldest are forgotten.
func TestIDs(t *testing.T) {
	var w Writes[int]
	ids := make([]leasehold.ID, 2*maxIDs+1)
	for i := range ids {
		ids[i] = leasehold.NewID()
		w.Put("r", ids[i], i)
	}
	for i, id := range ids {
		resource, ok := w.Resource(id)
		if want := i >= maxIDs; ok != want || ok && resource != "r" {
			t.Fatalf("Resource of id %d = %q, %v; want it known: %v", i, resource, ok, want)
		}
	}
	w.Put("elsewhere", ids[maxIDs], 0) // also in the older generation
	if resource, _ := w.Resource(ids[maxIDs]); resource != "elsewhere" {
		t.Errorf("Resource = %q, want where the id was written last", resource)
	}
}

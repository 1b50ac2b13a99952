package wire

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

// A list of waits is the same after its way over the wire.
func TestWaitListThereAndBack(t *testing.T) {
	want := leasehold.WaitList{Total: 9, Waits: []leasehold.Wait{
		{Place: leasehold.Place{Holder: "a", Priority: -3, Since: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), Position: 2}, Resource: "r", Sequence: true,
			Behind: []leasehold.Blocker{{Holder: "b", Resource: "r", Token: 7, Claim: leasehold.Claim{Pattern: "r"}}}},
		{Place: leasehold.Place{Holder: "c"}, Claims: leasehold.Paths("ns", "src/**"), Reserving: true, BehindMore: true,
			Behind: []leasehold.Blocker{{Holder: "d", Claim: leasehold.Claim{Namespace: "ns", Pattern: "src/**", Mode: leasehold.Shared}}}},
	}}
	text, err := json.Marshal(FromWaitList(want))
	if err != nil {
		t.Fatal(err)
	}
	var w Waits
	if err := json.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	got, err := w.Page()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Page() = %v, (-want +got):\n%s", err, diff)
	}
	const empty = `{"waits":[],"total":0}`
	if text, _ := json.Marshal(FromWaitList(leasehold.WaitList{})); string(text) != empty {
		t.Errorf("an empty list is %s, want %s", text, empty)
	}
	w.Waits[1].Behind[0].Claim.Mode = "borrowed"
	if _, err := w.Page(); err == nil {
		t.Error("Page() accepts an unknown mode")
	}
}

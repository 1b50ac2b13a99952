package limit

import "testing"

func TestCallers(t *testing.T) {
	l := New(3, 2)
	for i, step := range []struct {
		caller string
		exit   bool
		want   bool
		size   int
	}{
		{"a", false, true, 1}, {"a", false, true, 2}, {"a", false, false, 2}, // a has two
		{"b", false, true, 3}, {"c", false, false, 3}, // all are used
		{"a", true, true, 2}, {"c", false, true, 3}, {"a", false, false, 3},
		{"c", true, true, 2}, {"b", true, true, 1}, {"a", true, true, 0},
	} {
		got := true
		if step.exit {
			l.Exit(step.caller)
		} else {
			got = l.Enter(step.caller)
		}
		if got != step.want || l.Size() != step.size {
			t.Errorf("step %d: Enter(%q) = %v and Size = %d, want %v and %d", i, step.caller, got, l.Size(), step.want, step.size)
		}
	}
	if len(l.byCaller) > 0 {
		t.Errorf("callers that are gone are remembered: %v", l.byCaller)
	}
}

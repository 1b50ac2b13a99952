package admission

import "testing"

func TestLimit(t *testing.T) {
	l := New(3, 2)
	for _, step := range []struct {
		caller string
		want   bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"c", false}} {
		if got := l.Enter(step.caller); got != step.want {
			t.Errorf("Enter(%q) = %t, want %t", step.caller, got, step.want)
		}
	}
	l.Exit("a")
	if !l.Enter("b") || l.Enter("a") || l.Size() != 3 {
		t.Errorf("after Exit: Size = %d, want 3, two of them b's", l.Size())
	}
	for _, caller := range []string{"a", "b", "b"} {
		l.Exit(caller)
	}
	if l.Size() != 0 || len(l.byCaller) != 0 {
		t.Errorf("after all have left: Size = %d with %d callers, want none", l.Size(), len(l.byCaller))
	}
}

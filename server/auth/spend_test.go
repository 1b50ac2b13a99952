package auth

import "testing"

// What a request spends beyond itself comes out of the same allowance.
func TestSpend(t *testing.T) {
	if _, ok := Spend(t.Context()); !ok {
		t.Error("Spend of nobody = false, want true: there is no rate to keep")
	}
	ctx := withRate(t.Context(), limit{1, 3}.limiter())
	for range 3 {
		if _, ok := Spend(ctx); !ok {
			t.Fatal("Spend = false, want true within the burst")
		}
	}
	if wait, ok := Spend(ctx); ok || wait <= 0 {
		t.Errorf("Spend beyond the burst = %v, %v; want when to ask again", wait, ok)
	}
}

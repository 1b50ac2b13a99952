package auth

import "testing"

// What a request spends beyond itself comes out of the same allowance.
func TestSpend(t *testing.T) {
	if _, ok := AllowOperation(t.Context()); !ok {
		t.Error("AllowOperation of nobody = false, want true: there is no rate to keep")
	}
	ctx := withRate(t.Context(), limit{1, 3}.limiter())
	for range 3 {
		if _, ok := AllowOperation(ctx); !ok {
			t.Fatal("AllowOperation = false, want true within the burst")
		}
	}
	if wait, ok := AllowOperation(ctx); ok || wait <= 0 {
		t.Errorf("AllowOperation beyond the burst = %v, %v; want when to ask again", wait, ok)
	}
}

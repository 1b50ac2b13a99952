package leasehold

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestWhy(t *testing.T) {
	if got := WhyOf(context.Background()); got != "" {
		t.Errorf("WhyOf(no reason) = %q, want none", got)
	}
	if got := WhyOf(WithWhy(context.Background(), "a test")); got != "a test" {
		t.Errorf("WhyOf = %q, want a test", got)
	}
	if err := CheckWhy(strings.Repeat("x", MaxWhy+1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("CheckWhy(too long) = %v, want ErrInvalid", err)
	}
	if err := CheckWhy("fine"); err != nil {
		t.Errorf("CheckWhy(fine) = %v", err)
	}
}

package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/internal/sleep"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if !sleep.For(ctx, time.Millisecond) || sleep.For(ctx, time.Minute) {
			t.Error("For reports the end of its context wrongly")
		}
		if slept := time.Since(start); slept != time.Second {
			t.Errorf("it slept for %v, want until the context ended after a second", slept)
		}
	})
}

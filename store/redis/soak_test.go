package redis

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
)

// A lease is held and renewed for five minutes.
func TestHeldForFiveMinutes(t *testing.T) {
	if !soak.Long() {
		t.Skip("runs in make soak")
	}
	t.Parallel()
	s := openOn(t, newClient(t, testserver.Redis(t).Addr), nil)
	manager, err := leasehold.NewManager(s, &leasehold.Options{TTL: 3 * time.Second})
	must(t, err)
	defer func() { must(t, manager.Close(context.Background())) }()
	err = manager.Do(t.Context(), "r", func(ctx context.Context, held *leasehold.Held) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Minute):
			return nil
		}
	})
	if err != nil {
		t.Errorf("Do = %v, want the lease held for five minutes", err)
	}
}

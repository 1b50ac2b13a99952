package postgres

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/storetest"
)

// A lease is held and renewed for five minutes.
func TestHeldForFiveMinutes(t *testing.T) {
	if !soak.Long() {
		t.Skip("runs in make soak")
	}
	t.Parallel()
	pool, o := newPool(t, server(t).Addr), &Options{Schema: newSchema()}
	storetest.Hold(t, openOn(t, pool, o), openOn(t, pool, o), 3*time.Second, 5*time.Minute)
}

package shared

import (
	"path/filepath"
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
	path := filepath.Join(t.TempDir(), "leases.db")
	storetest.Hold(t, newStore(t, path, nil), newStore(t, path, nil), 10*time.Second, 5*time.Minute)
}

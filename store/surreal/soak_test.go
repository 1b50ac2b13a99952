package surreal

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// A lease is held and renewed for five minutes.
func TestHeldForFiveMinutes(t *testing.T) {
	if !soak.Long() {
		t.Skip("runs in make soak")
	}
	t.Parallel()
	addr, o := testserver.Surreal(t).Addr, Options{Database: "held"}
	storetest.Hold(t, openOn(t, addr, o), openOn(t, addr, o), 3*time.Second, 5*time.Minute)
}

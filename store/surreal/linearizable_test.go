package surreal

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// TestLinearizable breaks connections while 16 workers acquire, renew, transfer,
// break and release. (The server is not killed here: it lets others read what it has
// not yet written to disk.)
func TestLinearizable(t *testing.T) {
	network := testserver.Proxy(t, testserver.Surreal(t).Addr)
	storetest.HammerWithFaults(t, storetest.FaultLoad{
		Rounds: soak.Rounds(4, 20),
		Calls:  150,
		Open: func(round int) leasehold.Store {
			return openOn(t, network.Addr, Options{Timeout: 2 * time.Second})
		},
		Disturb: func(ctx context.Context, round int) int {
			return network.Disturb(ctx, uint64(round), 50*time.Millisecond, 200*time.Millisecond)
		},
	})
}

// Two programs on one database are one store.
func TestLinearizableTogether(t *testing.T) {
	server := testserver.Surreal(t)
	one := openOn(t, server.Addr, Options{Database: "together"})
	two := openOn(t, server.Addr, Options{Database: "together"})
	rec := storetest.Hammer(t, &storetest.Alternate{Stores: []leasehold.Store{one, two}}, &storetest.LoadOptions{Workers: 16, Calls: 60, Resources: 4, Seed: 1, Waiting: true})
	storetest.CheckHistory(t, rec)
	t.Logf("%d calls, %d grants", rec.Len(), rec.Grants())
}

package etcd

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
	client := newClient(t, testserver.Etcd(t).Addr)
	storetest.Hold(t, openOn(t, client, nil), openOn(t, client, nil), 3*time.Second, 5*time.Minute)
}

package server

import (
	"testing"

	"github.com/leasehold/leasehold"
)

// TestTooManyBlobLeases: blob leases count among all leases; one too many is
// Azure's word for a server that can take no more.
func TestTooManyBlobLeases(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("a", "x", nil)
	d.upload("b", "x", nil)
	if _, err := d.store.SetSetting(t.Context(), leasehold.SettingMaxLeases, 1); err != nil {
		t.Fatal(err)
	}
	lease := func(name string) reply {
		t.Helper()
		return d.signed("PUT", d.path(name)+"?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "60")
	}
	wantReply(t, "the first lease", lease("a"), 201, "")
	wantReply(t, "the second lease", lease("b"), 503, "ServerBusy")
	wantReply(t, "a lease that is in the way", lease("a"), 409, "LeaseAlreadyPresent")
}

package server

import (
	"net/http"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/server/auth"
)

// TestReset deletes what one account has, leased or not, and no other's; on the
// main port only an operator can.
func TestReset(t *testing.T) {
	d := newDoor(t)
	for _, account := range []string{testAccount, "otheraccount"} {
		ref := catalog.Ref{Account: account, Container: "box"}
		if _, err := d.catalog.CreateContainer(t.Context(), ref, catalog.ContainerDetails{}); err != nil {
			t.Fatal(err)
		}
		lease := catalog.LeaseRequest{Action: catalog.Acquire, Duration: leasehold.Infinite}
		if _, err := d.catalog.Lease(t.Context(), ref, lease); err != nil {
			t.Fatal(err)
		}
	}
	reset := func() *http.Response {
		t.Helper()
		r, err := http.NewRequest("DELETE", testHost+"/blob/"+testAccount+"?restype=service&comp=reset", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := d.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	d.caller = auth.Caller{Name: "ci", Roles: []auth.Role{auth.RoleReader, auth.RoleHolder}}
	if got := reset(); got.Header.Get("X-Ms-Error-Code") != azerr.AuthorizationFailure {
		t.Errorf("reset by a holder = %s, want %s", got.Status, azerr.AuthorizationFailure)
	}
	d.caller = auth.Caller{Name: "root", Roles: []auth.Role{auth.RoleOperator}}
	if got := reset(); got.StatusCode != http.StatusAccepted {
		t.Errorf("reset by an operator = %s, want 202", got.Status)
	}
	for account, there := range map[string]bool{testAccount: false, "otheraccount": true} {
		_, err := d.catalog.Container(t.Context(), catalog.Ref{Account: account, Container: "box"}, catalog.Access{})
		if (err == nil) != there {
			t.Errorf("Container of %s after the reset: %v, want it there: %v", account, err, there)
		}
	}
}

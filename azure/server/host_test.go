package server

import (
	"net/http"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
)

// TestHostsKeepPagesOut is about DNS rebinding: a page whose own name leads here
// could sign with the key that everybody knows.
func TestHostsKeepPagesOut(t *testing.T) {
	d := newDoor(t)
	d.server.hosts = []string{"localhost", "127.0.0.1", "::1", "emulator"}
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:10000": true, "LOCALHOST:10000": true, "127.0.0.1:10000": true, "[::1]:10000": true,
		"emulator:10000": true, "devstoreaccount1.blob.localhost:10000": true, "devstoreaccount1-secondary.blob.localhost": true,
		"devstoreaccount1.emulator:10000": true, "devstoreaccount1.blob.core.windows.net": true,
		"devstoreaccount1.evil.example": false, "devstoreaccount1.localhost.evil.example:10000": false,
		"evil.example": false, "evil.example:10000": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
	} {
		r, err := http.NewRequest("GET", testHost+"/devstoreaccount1?comp=list", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := d.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		refused := answer.Header.Get("X-Ms-Error-Code") == azerr.AuthorizationFailure
		if refused == ok {
			t.Errorf("Host %q: %s %s, want it to be let in: %v", host, answer.Status, answer.Header.Get("X-Ms-Error-Code"), ok)
		}
	}
}

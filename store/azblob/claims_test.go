package azblob_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/leasehold/leasehold/store/azblob"
	"github.com/leasehold/leasehold/store/internal/claimless"
)

// refusingTransport fails a test that calls the service.
type refusingTransport struct{ t *testing.T }

func (r refusingTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	r.t.Errorf("the store sends %s %s", q.Method, q.URL.Path)
	return nil, errors.New("there is no service")
}

// TestClaims, notes and paths are refused before the service is called.
func TestClaims(t *testing.T) {
	s, err := azblob.New(containerOf(t, refusingTransport{t}, "pipe", "leases"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	claimless.Check(t.Context(), t, s, "azblob")
}

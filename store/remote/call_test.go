package remote

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// What was withdrawn is not sent, although there is a connection, new or used.
func TestWithdrawnIsNotSent(t *testing.T) {
	for name, client := range map[string]*http.Client{"OwnConnections": nil, "HTTPClient": {Transport: new(http.Transport)}} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err == nil {
					arrived.Add(1)
				}
			}))
			defer server.Close()
			s, err := Open(server.URL, &Options{HTTPClient: client})
			if err != nil {
				t.Fatalf("Open = %v, want success", err)
			}
			defer s.Close()
			if client != nil {
				defer client.CloseIdleConnections()
			}
			for _, used := range []bool{false, true} {
				if used {
					_, err := s.transport.exchange(t.Context(), &call{method: "POST", effect: writes, json: []byte("{}")})
					if err != nil || arrived.Swap(0) != 1 {
						t.Fatalf("exchange = %v, want success", err)
					}
				}
				c := &call{method: "POST", effect: writes, json: []byte("{}")}
				c.withdraw()
				_, err := s.transport.exchange(t.Context(), c)
				if !errors.As(err, new(*notSent)) || arrived.Load() != 0 {
					t.Errorf("connection used: %v: exchange = %v and %d arrived, want notSent", used, err, arrived.Load())
				}
			}
		})
	}
}

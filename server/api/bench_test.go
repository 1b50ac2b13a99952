package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

// BenchmarkPair measures what the API itself costs: an acquire and a release
// without a network.
func BenchmarkPair(b *testing.B) {
	store := memory.New()
	defer store.Close()
	handler := New(store, nil).Handler()
	post := func(path, body string) []byte {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
		if w.Code != http.StatusOK && w.Code != http.StatusCreated {
			b.Fatalf("POST %s = %d %s", path, w.Code, w.Body)
		}
		return w.Body.Bytes()
	}
	b.ReportAllocs()
	for b.Loop() {
		var g wire.Grant
		if err := json.Unmarshal(post("/v1/leases/acquire", `{"resource":"r","holder":"a","ttl_seconds":60}`), &g); err != nil {
			b.Fatal(err)
		}
		post("/v1/leases/release", `{"lease_id":"`+g.LeaseID+`"}`)
	}
}

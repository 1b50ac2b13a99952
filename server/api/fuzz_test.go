package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
)

// Every name arrives as it was sent, and no path leads to a redirect or a
// failure.
func FuzzResourcePath(f *testing.F) {
	for _, name := range oddNames {
		f.Add(name)
	}
	store := memory.New()
	f.Cleanup(func() { store.Close() })
	s := New(store, nil)
	f.Fuzz(func(t *testing.T, name string) {
		for _, path := range []string{url.PathEscape(name), escapeAll(name)} {
			if e, rest, _ := s.router.Find("GET", "/v1/leases/"+path); e == nil || e.ID != "status" || rest != name {
				t.Fatalf("find(%q) = %v, %q; want status, %q", path, e, rest, name)
			}
			if e, rest, _ := s.router.Find("POST", "/v1/holders/"+path+"/release"); e == nil || rest != name {
				t.Fatalf("find(%q) = %v, %q; want force_release, %q", path, e, rest, name)
			}
		}
		u, err := url.ParseRequestURI("/v1/leases/" + name) // raw, as a careless client sends it
		if err != nil || strings.ContainsAny(name, "\r\n") {
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = u
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Fatalf("GET /v1/leases/%s = %d %s", name, w.Code, w.Body)
		}
	})
}

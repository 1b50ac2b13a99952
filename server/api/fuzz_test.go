package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

// What the strict decoder takes, the standard one takes too, and reads the
// same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"resource":"r","holder":"a","ttl_seconds":1.5e2,"metadata":{"a":"b"},"blocking":true,"priority":-3}`,
		`{"resource":"\ud83d\udd11\n\\","timeout_ms":null}`, `{"a":[{"b":"]}\""}]}`, `[]`, `{"metadata":{}}`, "{\"resource\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	shape := shapeOf(reflect.TypeFor[wire.AcquireRequest]())
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, standard wire.AcquireRequest
		if shape.decode(data, reflect.ValueOf(&strict).Elem()) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&standard); err != nil {
			t.Fatalf("decode(%q) = nil, but the standard decoder says %v", data, err)
		}
		if diff := cmp.Diff(standard, strict); diff != "" {
			t.Fatalf("decode(%q) reads something else than the standard decoder: %s", data, diff)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("decode(%q) took trailing garbage", data)
		}
	})
}

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
			if e, rest, _ := s.router.find("GET", "/v1/leases/"+path); e == nil || e.ID != "status" || rest != name {
				t.Fatalf("find(%q) = %v, %q; want status, %q", path, e, rest, name)
			}
			if e, rest, _ := s.router.find("POST", "/v1/holders/"+path+"/release"); e == nil || rest != name {
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

package azureapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/azure/sign"
)

// BenchmarkLeasePair is what the server adds to one acquire and release: all from
// the request's headers to the answer's, without a network and without the disk.
func BenchmarkLeasePair(b *testing.B) {
	d := newDriver(b)
	d.upload("pairs", "text", nil)
	handler := server.New(d.catalog, &server.Options{Logger: slog.New(slog.DiscardHandler)}).Handler()
	const id = "2f1c8e4a-6a0e-4c0e-9d4f-1b6f5d2a7c90"
	acquire := d.leaseCall("pairs", map[string]string{
		"X-Ms-Lease-Action": "acquire", "X-Ms-Lease-Duration": "60", "X-Ms-Proposed-Lease-Id": id})
	release := d.leaseCall("pairs", map[string]string{"X-Ms-Lease-Action": "release", "X-Ms-Lease-Id": id})
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range []*http.Request{acquire, release} {
			w := &silent{header: http.Header{}}
			handler.ServeHTTP(w, r)
			if w.status >= 300 {
				b.Fatalf("%s: status %d: %v", r.Header.Get("X-Ms-Lease-Action"), w.status, w.header)
			}
		}
	}
}

// leaseCall is a signed lease operation with the headers that an SDK sends.
func (d driver) leaseCall(name string, headers map[string]string) *http.Request {
	r := httptest.NewRequest(http.MethodPut, testHost+d.path(name)+"?comp=lease", nil)
	r.Header.Set("Accept", "application/xml")
	r.Header.Set("User-Agent", "azsdk-go-azblob/v1.8.0 (go1.26; linux)")
	r.Header.Set("X-Ms-Client-Request-Id", "0d1d2d3d-0d1d-4d3d-8d5d-6d7d8d9dadbd")
	r.Header.Set("X-Ms-Version", "2026-06-06")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	signRequest(r, sign.Development())
	return r
}

// silent is a writer that keeps the status alone.
type silent struct {
	header http.Header
	status int
}

func (s *silent) Header() http.Header              { return s.header }
func (s *silent) WriteHeader(status int)           { s.status = status }
func (s *silent) Write(b []byte) (int, error)      { return len(b), nil }
func (s *silent) Flush()                           {}
func (s *silent) SetWriteDeadline(time.Time) error { return nil }

package remote_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

// BenchmarkPair measures acquire and release over loopback TCP, 64 workers,
// with our own connections and with net/http's client.
func BenchmarkPair(b *testing.B) {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	b.Cleanup(transport.CloseIdleConnections)
	for name, o := range map[string]*remote.Options{
		"OwnConnections": nil,
		"HTTPClient":     {HTTPClient: &http.Client{Transport: transport}},
	} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(served(b))
			b.Cleanup(server.Close)
			s := open(b, server.URL, o)
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := leasehold.AcquireRequest{Resource: leasehold.NewID().Reveal(), Holder: "h"}
				for pb.Next() {
					g, err := s.Acquire(b.Context(), r)
					if err != nil {
						b.Errorf("Acquire = %v, want a grant", err)
						return
					}
					if _, err := s.Release(b.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: r.Resource}); err != nil {
						b.Errorf("Release = %v, want success", err)
						return
					}
				}
			})
		})
	}
}

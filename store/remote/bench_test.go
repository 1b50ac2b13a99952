package remote_test

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

// BenchmarkPair measures acquire and release over loopback TCP, with a client of
// our own and with one of the caller's.
func BenchmarkPair(b *testing.B) {
	for name, o := range map[string]*remote.Options{"OwnConnections": nil, "HTTPClient": {HTTPClient: client(b, nil)}} {
		for _, workers := range []int{1, 8, 64} {
			b.Run(fmt.Sprint(name, "/", workers), func(b *testing.B) {
				server := httptest.NewServer(served(b))
				b.Cleanup(server.Close)
				s := open(b, server.URL, o)
				b.ReportAllocs()
				b.ResetTimer()
				var running sync.WaitGroup
				var begun atomic.Int64
				for range workers {
					running.Go(func() {
						for r := unique(); begun.Add(1) <= int64(b.N); {
							pair(b, s, r)
						}
					})
				}
				running.Wait()
			})
		}
	}
}

func unique() leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: leasehold.NewID().Reveal(), Holder: "h"}
}

func pair(b *testing.B, s *remote.Store, r leasehold.AcquireRequest) {
	g, err := s.Acquire(b.Context(), r)
	if err == nil {
		_, err = s.Release(b.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: r.Resource})
	}
	if err != nil {
		b.Errorf("a pair = %v, want success", err)
	}
}

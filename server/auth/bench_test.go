package auth

import (
	"net/http"
	"testing"
)

type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// BenchmarkWrap is what the guard costs each request.
func BenchmarkWrap(b *testing.B) {
	path := tokenPath(b)
	secret := mustCreate(b, path, TokenSpec{Name: "ci", Roles: reader})
	idle := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, o := range map[string]Options{"open": {}, "token": {TokenFile: path, Rate: 1e9}} {
		b.Run(name, func(b *testing.B) {
			g, _ := newGuard(b, o)
			handler := g.Wrap(idle)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				w := nowhere{http.Header{}}
				r := request("POST", "/v1/leases/acquire", bearerHeader(secret), "Content-Type: application/json")
				for pb.Next() {
					handler.ServeHTTP(w, r)
				}
			})
		})
	}
}

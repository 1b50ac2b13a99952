package serve

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/store/sqlite"
)

// TestDataDirectory: one server can have a data directory at a time, be it only for
// blobs, and everything in it is closed with the server.
func TestDataDirectory(t *testing.T) {
	o := Defaults()
	o.Listen, o.Data = "127.0.0.1:0", t.TempDir()
	for _, store := range []string{"", "memory:"} {
		o.Store = store
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := Start(t.Context(), o); second != nil || !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), s.APIs()[0].URL) {
			t.Errorf("a second Start = %v, %v, want ErrInUse with the address of the first", second, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		err = WithCatalog(t.Context(), o.Data, func(c *catalog.Catalog) error {
			r, err := c.Check(t.Context(), false)
			if len(r.Problems) > 0 {
				t.Errorf("Check found %v", r.Problems)
			}
			return err
		})
		if err != nil {
			t.Errorf("WithCatalog = %v", err)
		}
	}
}

// TestListenersShutDownTogether: while one listener waits for a request under way,
// no other accepts connections.
func TestListenersShutDownTogether(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-finish })
	s := &Server{log: slog.New(slog.DiscardHandler)}
	for _, handler := range []http.Handler{slow, http.NotFoundHandler()} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		one := &listener{api: API{Name: "test", URL: urlOf(l, false)}, socket: l, http: &http.Server{Handler: handler}}
		s.listeners = append(s.listeners, one)
		go one.serve()
	}
	go http.Get(s.listeners[0].api.URL)
	<-entered
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := net.Dial("tcp", s.listeners[1].socket.Addr().String())
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the second listener accepts connections while the first one shuts down")
		}
		time.Sleep(time.Millisecond) // no event says when a listener has closed
	}
	close(finish)
	if err := <-closed; err != nil {
		t.Errorf("Close = %v", err)
	}
}

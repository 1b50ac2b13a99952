package serve

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

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

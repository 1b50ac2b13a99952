package main

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestDoorsShutTogether: while one door waits for a request under way, no other
// takes newcomers.
func TestDoorsShutTogether(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-leave })
	h := &house{log: slog.New(slog.DiscardHandler)}
	for _, handler := range []http.Handler{slow, http.NotFoundHandler()} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		d := &door{name: "test", url: "http://" + l.Addr().String(), listener: l, server: &http.Server{Handler: handler}}
		h.doors = append(h.doors, d)
		go d.serve()
	}
	go http.Get(h.doors[0].url)
	<-entered
	shut := make(chan error)
	go func() { shut <- h.shut() }()
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := net.Dial("tcp", h.doors[1].listener.Addr().String())
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the second door takes newcomers while the first one shuts")
		}
		time.Sleep(time.Millisecond) // nothing tells us when a listener has closed
	}
	close(leave)
	if err := <-shut; err != nil {
		t.Errorf("shut = %v", err)
	}
}

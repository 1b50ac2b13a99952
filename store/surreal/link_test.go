package surreal

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/testserver"
)

// The connection is everybody's: a caller with little time leaves it as it is.
func TestImpatientCallerKeepsTheConnection(t *testing.T) {
	network := testserver.Proxy(t, testserver.Surreal(t).Addr)
	s := openOn(t, network.Addr, Options{})
	before, err := s.backend.own.current(t.Context())
	must(t, err)
	network.Delay(100*time.Millisecond, 0)
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := s.Status(ctx, "r"); err == nil {
			t.Error("Status = nil, want that there was no time")
		}
		cancel()
	}
	network.Heal()
	_, err = s.Status(t.Context(), "r")
	must(t, err)
	if after, err := s.backend.own.current(t.Context()); err != nil || after != before || before.lost() {
		t.Errorf("the connection was lost (%v)", err)
	}
}

// A server that says nothing at all is left after a while.
func TestSilentServerIsLeft(t *testing.T) {
	server := testserver.Surreal(t)
	s := openOn(t, server.Addr, Options{Timeout: 2 * time.Second})
	before, err := s.backend.own.current(t.Context())
	must(t, err)
	server.Pause()
	if _, err := s.Status(t.Context(), "r"); err == nil {
		t.Error("Status of a server that sleeps = nil, want an error")
	}
	server.Resume()
	if !before.lost() {
		t.Error("the connection to a server that does not answer was kept")
	}
}

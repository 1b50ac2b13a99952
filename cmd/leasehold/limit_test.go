package main

import (
	"net"
	"testing"
)

func TestLimitConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 1)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	for range 2 { // both get through to the system's queue
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("Accept let a second connection in, want one at a time")
	default:
	}
	first.Close()
	first.Close() // its seat is given back once
	second := <-accepted
	if got := len(l.(*limited).seats); got != 1 {
		t.Errorf("%d seats are taken, want 1", got)
	}
	second.Close()
	l.Close()
	if c, ok := <-accepted; ok {
		t.Errorf("Accept = %v after Close, want none", c.RemoteAddr())
	}
}

// A listener that is full must still be able to close.
func TestLimitConnectionsClosesWhileFull(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 1)
	l.(*limited).seats <- struct{}{}
	done := make(chan error)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	l.Close()
	if err := <-done; err == nil {
		t.Error("Accept = nil after Close, want an error")
	}
}

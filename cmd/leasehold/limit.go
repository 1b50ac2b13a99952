package main

import (
	"net"
	"sync"
)

// limitConnections lets at most n connections be open at a time. Further ones
// wait in the system's queue until one closes.
func limitConnections(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, seats: make(chan struct{}, n), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	seats  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.seats <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.seats
		return nil, err
	}
	return &seated{Conn: c, leave: sync.OnceFunc(func() { <-l.seats })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// seated is a connection that gives its seat back.
type seated struct {
	net.Conn
	leave func()
}

func (c *seated) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

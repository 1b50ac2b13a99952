//go:build unix

package remote

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"
)

// alive looks whether an idle connection can still carry a request. Without the
// look, the first write after a server's restart would be one whose outcome
// nobody knows. An idle server says nothing, so anything there is to read is
// the end, or the announcement of it.
func alive(conn net.Conn) bool {
	c := raw(conn)
	if c == nil {
		return true // not a socket: nobody can look
	}
	_ = conn.SetDeadline(time.Time{}) // the last request's may have passed since
	quiet := false
	err := c.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && quiet
}

// raw returns the connection that the operating system knows, if it is one.
func raw(conn net.Conn) syscall.RawConn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	known, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	c, err := known.SyscallConn()
	if err != nil {
		return nil
	}
	return c
}

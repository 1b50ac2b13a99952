package testserver

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Redis starts Debian's redis-server with more arguments, which win over its own.
// Nothing is saved to disk unless they say so ("--appendonly", "yes"): a restarted
// server is then empty.
func Redis(t T, args ...string) *Server {
	t.Helper()
	server, dir := program(t, "redis-server"), t.TempDir()
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, append([]string{
			"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
			"--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning",
		}, args...)...)
	}, func(addr string) error { return pingRedis(addr, nil) })
}

// RedisTLS starts Debian's redis-server with TLS alone, under a certificate for
// 127.0.0.1 and localhost. Clients need no certificate.
func RedisTLS(t T, c *Certificate, args ...string) *Server {
	t.Helper()
	server, dir := program(t, "redis-server"), t.TempDir()
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, append([]string{
			"--bind", "127.0.0.1", "--port", "0", "--tls-port", strconv.Itoa(port), "--dir", dir,
			"--tls-cert-file", c.CertFile, "--tls-key-file", c.KeyFile, "--tls-auth-clients", "no",
			"--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning",
		}, args...)...)
	}, func(addr string) error { return pingRedis(addr, c.Client()) })
}

// pingRedis is satisfied by any answer but that the data is still being loaded: a
// server that wants a password is there too.
func pingRedis(addr string, config *tls.Config) error {
	conn, err := dial(addr, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.HasPrefix(line, "-LOADING") {
		return fmt.Errorf("redis-server: %q", line)
	}
	return nil
}

func dial(addr string, config *tls.Config) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	var conn net.Conn
	var err error
	if config == nil {
		conn, err = dialer.Dial("tcp", addr)
	} else {
		conn, err = tls.DialWithDialer(dialer, "tcp", addr, config)
	}
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(5 * time.Second))
}

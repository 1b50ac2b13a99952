package auth

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// CheckBind refuses to listen where others than this machine can reach an
// address, unless callers are authenticated and nobody on the way can listen
// in, or the user has spelt out that it shall be insecure.
func CheckBind(addr string, authenticated, tls, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w; want host:port", addr, err)
	}
	if isLoopback(host) || authenticated && tls || insecure {
		return nil
	}
	missing := "authentication and TLS; give --token-file, --tls-cert and --tls-key"
	switch {
	case authenticated:
		missing = "TLS, so tokens would travel in the clear; give --tls-cert and --tls-key"
	case tls:
		missing = "authentication; give --token-file"
	}
	return fmt.Errorf("%w: others than this machine can reach %s without %s, listen on 127.0.0.1, or spell out --insecure",
		ErrInsecure, addr, missing)
}

// ErrInsecure is what CheckBind answers, for errors.Is.
var ErrInsecure = errors.New("refused to listen")

// isLoopback asks no name server: what it answers now says nothing about what
// the listener will be told. An empty host means every address.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

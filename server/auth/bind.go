package auth

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// CheckBind refuses an address that other machines can reach, unless callers are
// authenticated and connections encrypted, or the user has spelt out that it shall
// be insecure.
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

// isLoopback asks no name server: the listener may get another answer. An empty
// host means every address.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

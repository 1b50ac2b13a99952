package auth

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckBind(t *testing.T) {
	loopback := []string{"127.0.0.1:8105", "localhost:0", "LOCALHOST:80", "[::1]:8105", "127.0.0.2:1", "[::ffff:127.0.0.1]:80"}
	for _, addr := range loopback {
		if err := CheckBind(addr, false, false, false); err != nil {
			t.Errorf("CheckBind(%q) = %v, want nil", addr, err)
		}
	}
	for _, addr := range []string{":8105", "0.0.0.0:8105", "[::]:80", "10.0.0.7:80", "leases.example:80", "localhost.example:1", "[fe80::1%eth0]:80"} {
		tests := []struct {
			authenticated, tls, insecure bool
			want                         string
		}{
			{false, false, false, "--token-file, --tls-cert and --tls-key"},
			{true, false, false, "in the clear"},
			{false, true, false, "without authentication;"},
			{true, true, false, ""},
			{false, false, true, ""},
		}
		for _, tt := range tests {
			err := CheckBind(addr, tt.authenticated, tt.tls, tt.insecure)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("CheckBind(%q, %v, %v, %v) = %v, want nil", addr, tt.authenticated, tt.tls, tt.insecure, err)
			case tt.want != "" && (!errors.Is(err, ErrInsecure) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), addr)):
				t.Errorf("CheckBind(%q, %v, %v, %v) = %v, want ErrInsecure that says %q", addr, tt.authenticated, tt.tls, tt.insecure, err, tt.want)
			}
		}
	}
	for _, addr := range []string{"", "8105", "127.0.0.1", "::1", "a:b:c"} {
		if err := CheckBind(addr, true, true, true); err == nil {
			t.Errorf("CheckBind(%q) = nil, want an error", addr)
		}
	}
}

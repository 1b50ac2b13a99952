//go:build unix

package cmd_test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
)

// Settings, leases and tokens survive any end of the server once it has answered.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	if g := s.acquire("before", "a", ""); g.at("ttl_seconds") != "300" {
		t.Errorf("the ttl is %s, want the default of 300", g.at("ttl_seconds"))
	}
	s.send(http.MethodPut, "/v1/config/default_ttl_seconds", `{"value":0}`).wantCode(http.StatusBadRequest, "invalid_argument")
	token := 1.0
	for value, sig := range map[string]syscall.Signal{"77": syscall.SIGKILL, "88": syscall.SIGTERM, "99": syscall.SIGINT} {
		s.send(http.MethodPut, "/v1/config/default_ttl_seconds", `{"value":`+value+`}`).want(http.StatusOK)
		g := s.acquire("at:"+value, "a", "")
		if g.at("ttl_seconds") != value || g.number("token") != token+1 {
			t.Errorf("the next lease is %s, want a ttl of %s s and token %v", g.body, value, token+1)
		}
		s.restart(sig)
		if g := s.acquire("after:"+value, "a", ""); g.at("ttl_seconds") != value || g.number("token") <= token+1 {
			t.Errorf("after %v the next lease is %s, want a ttl of %s s and a token beyond %v", sig, g.body, value, token+1)
		} else {
			token = g.number("token")
		}
		if left := s.post("/v1/leases/renew", `{"lease_id":"`+g.at("lease_id")+`"}`).want(http.StatusOK); left.at("ttl_seconds") != value {
			t.Errorf("after %v renew = %s, want the lease as it was", sig, left.body)
		}
		if got := s.setting("default_ttl_seconds"); got != value {
			t.Errorf("after %v the setting is %s, want %s", sig, got, value)
		}
	}
}

// setting returns a setting of GET /v1/config.
func (c *client) setting(key string) string {
	c.t.Helper()
	all := c.send(http.MethodGet, "/v1/config", "").want(http.StatusOK)
	for i := range all.size("settings") {
		if all.at(fmt.Sprintf("settings.%d.key", i)) == key {
			return all.at(fmt.Sprintf("settings.%d.value", i))
		}
	}
	return "none"
}

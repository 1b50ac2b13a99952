//go:build unix

package cmd_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// hardNames are names that mean something elsewhere; here they are plain data.
var hardNames = []string{
	strings.Repeat("n", 1024), strings.Repeat("🔑", 256), `"double" and 'single'`, "a/b/c", "/", "/a/", "a//b", "//", "..", "../../etc/passwd", "a/../b", ".",
	"a b", " ", "+", "%", "%2F", "100%", "%00", "%zz", "emoji 🏳️‍🌈🐘", "'; DROP TABLE leases; --", `" OR 1=1`, "*", "?", "a?b=c&d#e", "#", ";", `\`, "acquire", "x/release", "é", "<b>",
}

func TestHardNames(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	ids := map[string]string{}
	for _, name := range hardNames { // all are held at the same time
		g := s.acquire(name, "h", "")
		if g.at("resource") != name {
			t.Errorf("acquire(%.40q) = %.60q, want the name as it was sent", name, g.at("resource"))
		}
		ids[name] = g.at("lease_id")
	}
	for _, name := range hardNames {
		token := s.post("/v1/leases/get", `{"lease_id":"`+ids[name]+`"}`).want(http.StatusOK).at("token")
		for _, path := range []string{
			"/v1/resource?resource=" + url.QueryEscape(name),
			"/v1/leases/" + url.PathEscape(name),
			"/v1/leases/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/"),
		} {
			a := s.send(http.MethodGet, path, "").want(http.StatusOK)
			if a.at("resource") != name || a.at("lease.token") != token {
				t.Errorf("GET %.80s = %.200s, want %.40q with token %s", path, a.body, name, token)
			}
		}
		for _, filter := range []string{"/v1/leases?resource=", "/v1/history?resource="} {
			a := s.send(http.MethodGet, filter+url.QueryEscape(name), "").want(http.StatusOK)
			if a.size("leases")+a.size("history") != 1 || !strings.Contains(a.body, `"token":`+token+",") {
				t.Errorf("GET %s%.40q = %.200s, want what has token %s", filter, name, a.body, token)
			}
		}
		s.post("/v1/leases/acquire", acquireBody(name, "other", "")).wantCode(http.StatusConflict, "lease_held")
	}
	// The program's own client, as far as a command line can hold the name.
	for _, name := range []string{hardNames[0], hardNames[2], "a/../b", "%zz", "'; DROP TABLE leases; --", "emoji 🏳️‍🌈🐘"} {
		if code, out, err := s.cli(nil, "status", "--json", "--", name); code != 0 || !strings.Contains(out, `"locked": true`) {
			t.Errorf("leasehold status %.40q = %d, %s%s, want it locked", name, code, out, err)
		}
	}
	for _, name := range hardNames {
		s.release(ids[name])
	}
	if l := s.send(http.MethodGet, "/v1/leases", "").want(http.StatusOK); l.size("leases") != 0 {
		t.Errorf("in the end there is %.200s, want nothing", l.body)
	}
	for name, problem := range map[string]string{strings.Repeat("n", 1025): "1024", "": "resource", "a\x00b": "control", "a\nb": "control"} {
		p := s.post("/v1/leases/acquire", acquireBody(name, "h", "")).wantCode(http.StatusBadRequest, "invalid_argument")
		if !strings.Contains(p.at("detail"), problem) {
			t.Errorf("acquire(%.40q) = %s, want %q in it", name, p.body, problem)
		}
	}
}

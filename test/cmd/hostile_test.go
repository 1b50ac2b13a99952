//go:build unix

package cmd_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// The answer says what is wrong with a request, and the server goes on.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	id := s.acquire("kept", "a", "").at("lease_id")
	deep := strings.Repeat("[", 60_000)
	for _, tt := range []struct {
		body, says string
	}{
		{`{"resource":"r","holder":"h"`, "body"},
		{`{"resource":"r","holder":"h"}{"resource":"s"}`, "body"},
		{`not JSON`, "body"},
		{`null`, "object"},
		{`[]`, "object"},
		{`"text"`, "object"},
		{deep, "depth"},
		{`{"resource":` + deep + `}`, "depth"},
		{`{"resource":7,"holder":"h"}`, "resource"},
		{`{"resource":"r","holder":["h"]}`, "holder"},
		{`{"resource":"r","holder":"h","ttl_seconds":"60"}`, "ttl_seconds"},
		{`{"resource":"r","holder":"h","ttl_seconds":1e400}`, "ttl_seconds"},
		{`{"resource":"r","holder":"h","ttl_seconds":0.5}`, "ttl_seconds"},
		{`{"resource":"r","holder":"h","ttl_seconds":-2}`, "ttl_seconds"},
		{`{"resource":"r","holder":"h","ttl_seconds":60,"duration":61}`, "duration"},
		{`{"resource":"r","holder":"h","blocking":"yes"}`, "blocking"},
		{`{"resource":"r","holder":"h","timeout_ms":1.5}`, "timeout_ms"},
		{`{"resource":"r","holder":"h","timeout_ms":-1}`, "timeout_ms"},
		{`{"resource":"r","holder":"h","priority":101}`, "priority"},
		{`{"resource":"r","holder":"h","max_renewals":1000001}`, "max_renewals"},
		{`{"resource":"r","holder":"h","metadata":{"k":1}}`, "metadata"},
		{`{"resource":"r","holder":"h","metadata":{"a b":"v"}}`, "metadata"},
		{`{"resource":"r","holder":"h","metadata":{"k":"` + strings.Repeat("v", 1025) + `"}}`, "metadata"},
		{`{"resource":"r","holder":"h","lease_id":"nonsense"}`, "lease_id"},
		{`{"resource":"r","holder":""}`, "holder"},
		{`{"resource":"r"}`, "holder"},
		{`{"resource":"r","holder":"` + strings.Repeat("h", 257) + `"}`, "holder"},
		{"{\"resource\":\"\xff\xfe\",\"holder\":\"h\"}", "UTF-8"},
		{`{"resource":"blob:c/x","holder":"h"}`, "resource"},
		{`{"resource":"__healthcheck__:x","holder":"h"}`, "resource"},
	} {
		p := s.post("/v1/leases/acquire", tt.body)
		if p.status != http.StatusBadRequest || p.at("code") != "invalid_argument" || !strings.Contains(p.at("detail"), tt.says) {
			t.Errorf("%.80s = %d %.300s, want 400 with %q in it", tt.body, p.status, p.body, tt.says)
		}
	}
	for path, field := range map[string]string{
		"/v1/leases?limit=many": "limit", "/v1/leases?limit=1001": "limit", "/v1/leases?cursor=AAAA": "cursor", "/v1/leases?nonsense=1": "nonsense",
		"/v1/leases?status=tired": "status", "/v1/history?since=yesterday": "since", "/v1/history?event=party": "event", "/v1/history?cursor=%00": "cursor",
		"/v1/resource": "resource", "/v1/events?after=-1": "after", "/v1/leases/%ff": "UTF-8", "/v1/leases/a%00b": "control",
	} {
		if p := s.send(http.MethodGet, path, ""); p.status != http.StatusBadRequest || !strings.Contains(p.at("detail"), field) {
			t.Errorf("GET %s = %d %s, want 400 with %q in it", path, p.status, p.body, field)
		}
	}
	s.send(http.MethodGet, "/nowhere", "").wantCode(http.StatusNotFound, "not_found")
	s.send(http.MethodDelete, "/v1/leases", "").wantCode(http.StatusMethodNotAllowed, "method_not_allowed")
	if l := s.send(http.MethodGet, "/v1/leases", "").want(http.StatusOK); l.size("leases") != 1 {
		t.Errorf("after all that the leases are %s, want the one from before", l.body)
	}
	s.release(id)
}

// What is not HTTP costs its sender the connection, and nothing else.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	const post = "POST /v1/leases/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct{ sent, status string }{
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"}, // TLS, more or less
		{"GET / HTTP/9.9\r\n\r\n", "505"},
		{"GET /v1/leases HTTP/1.1\r\n\r\n", "400"}, // no Host
		{"GET /v1/leases HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
		{"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
		{"GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "431"},
		{post + "Content-Length: -1\r\n\r\n", "400"},
		{post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n{}  ", "400"},
		{post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{post + "Content-Length: 10485760\r\n\r\n", "413"}, // before a byte of it is sent
		{post + "Transfer-Encoding: chunked\r\n\r\nA00000\r\n" + strings.Repeat(" ", 1<<20), "413"},
	} {
		if got := s.raw(tt.sent); got != tt.status {
			t.Errorf("%.80q = %q, want %s", tt.sent, got, tt.status)
		}
	}
	// Half a request, and gone.
	for _, half := range []string{"", "G", "GET /v1/leases HTTP/1.1\r\n", post + "Content-Length: 50\r\n\r\n" + `{"resource":"half","holder":"h"}`} {
		c := s.dial()
		_, _ = io.WriteString(c, half)
		c.Close()
	}
	s.acquire("r", "a", "")
	if st := s.status("half"); st.at("lease") != "" {
		t.Errorf("half a body was granted a lease: %s", st.body)
	}
}

func (s *binaryServer) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address())
	if err != nil {
		s.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * process.Timeout))
	return c
}

// raw sends bytes and returns the status of what comes back.
func (s *binaryServer) raw(text string) string {
	s.t.Helper()
	c := s.dial()
	defer c.Close()
	return exchange(c, strings.NewReader(text))
}

// exchange writes a request and returns the status that comes back, which may be
// before all of it is written.
func exchange(c net.Conn, request io.Reader) string {
	go func() { _, _ = io.Copy(c, request) }()
	line, err := bufio.NewReader(c).ReadString('\n')
	var version, status string
	if _, scanned := fmt.Sscan(line, &version, &status); scanned != nil {
		return fmt.Sprintf("%q, %v", line, err)
	}
	return status
}

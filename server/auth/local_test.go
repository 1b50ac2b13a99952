package auth

import (
	"crypto/tls"
	"strings"
	"testing"
)

// TestHost is about DNS rebinding: a page whose own name has been made to lead
// to 127.0.0.1 sends that name.
func TestHost(t *testing.T) {
	g, _ := newGuard(t, Options{Hosts: []string{"Leases.internal", "[fd00::7]"}})
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:8105": true, "LocalHost:1": true,
		"127.0.0.1": true, "127.0.0.1:8105": true, "[::1]": true, "[::1]:8105": true,
		"leases.internal": true, "LEASES.INTERNAL:80": true, "[fd00::7]:8105": true,

		"": false, ":8105": false, "evil.example": false, "evil.example:8105": false,
		"localhost.evil.example": false, "evil-localhost": false, "localhost.": false,
		"127.0.0.1.evil.example": false, "127.0.0.2": false, "127.1": false, "2130706433": false,
		"0.0.0.0:8105": false, "[::]:8105": false, "::1": false, "[::ffff:127.0.0.1]": false,
		"localhost:": false, "localhost:80:80": false, "localhost:80@evil.example": false,
		"localhost:x": false, "localhost@evil.example": false, "user@localhost": false, "[::1": false,
		"localhost localhost": false, "localhost\x00": false, "[::1]evil.example": false,
	} {
		for _, r := range []struct{ method, target string }{{"GET", "/v1/leases"}, {"POST", "/v1/leases/break"}, {"GET", "/healthz"}} {
			req := request(r.method, r.target, "Host: "+host, "Content-Type: application/json")
			if ok {
				wantCaller(t, g, req, "local")
			} else {
				wantCode(t, g, req, 403, "forbidden")
			}
		}
	}
}

func TestHostRefusalSaysWhatToDo(t *testing.T) {
	g, log := newGuard(t, Options{})
	_, p := send(t, g, request("GET", "/", "Host: "+strings.Repeat("evil", 1000)))
	if !strings.Contains(p.Detail, "localhost, 127.0.0.1, [::1]") || len(p.Detail) > 300 || p.Field != "Host" {
		t.Errorf("refused with %+v, want a short detail that names the hosts", p)
	}
	if !strings.Contains(log.String(), "code=forbidden") {
		t.Errorf("the log says %q, want the refusal", log)
	}
}

// TestCrossSite has what browsers send for the requests that a page can cause.
func TestCrossSite(t *testing.T) {
	const asJSON = "Content-Type: application/json"
	g, _ := newGuard(t, Options{})
	tests := []struct {
		name    string
		method  string
		headers []string
		want    string // the code, or "" if it passes
	}{
		{"curl", "POST", []string{asJSON}, ""},
		{"curl reads", "GET", nil, ""},
		{"charset", "PUT", []string{"Content-Type: application/json; charset=utf-8"}, ""},
		{"capitals", "PUT", []string{"Content-Type: Application/JSON"}, ""},
		{"own page", "POST", []string{asJSON, "Origin: http://localhost:8105", "Sec-Fetch-Site: same-origin"}, ""},
		{"own page, capitals", "POST", []string{asJSON, "Origin: http://LOCALHOST:8105"}, ""},
		{"own page without a port", "POST", []string{"Host: localhost", asJSON, "Origin: http://localhost:80"}, ""},
		{"own page on IPv6", "POST", []string{"Host: [::1]:8105", asJSON, "Origin: http://[::1]:8105"}, ""},
		{"typed into the address bar", "GET", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"}, ""},
		{"a link elsewhere", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-User: ?1"}, ""},
		{"a link on another port", "HEAD", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-User: ?1"}, ""},

		{"foreign fetch", "POST", []string{asJSON, "Origin: https://evil.example"}, "forbidden"},
		{"foreign read", "GET", []string{"Origin: https://evil.example"}, "forbidden"},
		{"preflight", "OPTIONS", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, "forbidden"},
		{"sandboxed frame or file", "POST", []string{asJSON, "Origin: null"}, "forbidden"},
		{"sandboxed read", "GET", []string{"Origin: null"}, "forbidden"},
		{"empty origin", "POST", []string{asJSON, "Origin: "}, "forbidden"},
		{"other port", "POST", []string{asJSON, "Origin: http://localhost:3000"}, "forbidden"},
		{"no port", "POST", []string{asJSON, "Origin: http://localhost"}, "forbidden"},
		{"other loopback name", "POST", []string{asJSON, "Origin: http://127.0.0.1:8105"}, "forbidden"},
		{"other scheme", "POST", []string{asJSON, "Origin: https://localhost:8105"}, "forbidden"},
		{"extension", "POST", []string{asJSON, "Origin: chrome-extension://localhost:8105"}, "forbidden"},
		{"user in the origin", "POST", []string{asJSON, "Origin: http://localhost:8105@evil.example"}, "forbidden"},
		{"own name as user", "POST", []string{asJSON, "Origin: http://evil@localhost:8105"}, "forbidden"},
		{"path in the origin", "POST", []string{asJSON, "Origin: http://localhost:8105/"}, "forbidden"},
		{"broken origin", "POST", []string{asJSON, "Origin: http://[localhost:8105"}, "forbidden"},
		{"two origins", "POST", []string{asJSON, "Origin: http://localhost:8105", "Origin: https://evil.example"}, "forbidden"},
		{"marked cross-site", "POST", []string{asJSON, "Sec-Fetch-Site: cross-site"}, "forbidden"},
		{"marked same-site", "POST", []string{asJSON, "Sec-Fetch-Site: same-site"}, "forbidden"},
		{"marked oddly", "POST", []string{asJSON, "Sec-Fetch-Site: whatever"}, "forbidden"},
		{"form as navigation", "POST", []string{asJSON, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, "forbidden"},
		{"image or script", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, "forbidden"},

		{"iframe", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe", "Sec-Fetch-User: ?1"}, "forbidden"},
		{"iframe on another port", "GET", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, "forbidden"},
		{"frame", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: frame", "Sec-Fetch-User: ?1"}, "forbidden"},
		{"embed", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: embed"}, "forbidden"},
		{"object", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: object"}, "forbidden"},
		{"object of an older browser", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: object"}, "forbidden"},
		{"prefetch", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty"}, "forbidden"},
		{"window that a script opens", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, "forbidden"},
		{"navigation that does not say where to", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, "forbidden"},
		{"EventSource", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Origin: https://evil.example"}, "forbidden"},
		{"WebSocket", "GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: websocket", "Sec-Fetch-Dest: websocket"}, "forbidden"},

		{"form", "POST", []string{"Content-Type: application/x-www-form-urlencoded"}, "unsupported_media_type"},
		{"upload form", "POST", []string{"Content-Type: multipart/form-data; boundary=x"}, "unsupported_media_type"},
		{"text form", "POST", []string{"Content-Type: text/plain"}, "unsupported_media_type"},
		{"JSON in a parameter", "POST", []string{"Content-Type: text/plain; application/json"}, "unsupported_media_type"},
		{"two types", "POST", []string{"Content-Type: text/plain", asJSON}, "unsupported_media_type"},
		{"two types, JSON first", "POST", []string{asJSON, "Content-Type: text/plain"}, "unsupported_media_type"},
		{"no type, as sendBeacon without a body", "POST", nil, "unsupported_media_type"},
		{"PUT without a type", "PUT", nil, "unsupported_media_type"},
		{"DELETE without a type", "DELETE", nil, "unsupported_media_type"},
		{"PATCH without a type", "PATCH", nil, "unsupported_media_type"},
		{"an unknown method", "BREAKEVERYTHINGATONCE", nil, "unsupported_media_type"},
	}
	status := map[string]int{"forbidden": 403, "unsupported_media_type": 415}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request(tt.method, "/v1/leases/break", tt.headers...)
			if tt.want == "" {
				wantCaller(t, g, r, "local")
			} else {
				wantCode(t, g, r, status[tt.want], tt.want)
			}
		})
	}
}

func TestOriginWithTLS(t *testing.T) {
	g, _ := newGuard(t, Options{})
	for origin, ok := range map[string]bool{
		"https://localhost": true, "https://localhost:443": true, "http://localhost": false, "https://localhost:80": false,
	} {
		r := request("POST", "/", "Host: localhost", "Content-Type: application/json", "Origin: "+origin)
		r.TLS = new(tls.ConnectionState)
		if ok {
			wantCaller(t, g, r, "local")
		} else {
			wantCode(t, g, r, 403, "forbidden")
		}
	}
}

// TestTokensOnAnOpenListener are ignored: it has none to compare them with.
func TestTokensOnAnOpenListener(t *testing.T) {
	g, _ := newGuard(t, Options{})
	wantCaller(t, g, request("GET", "/", bearerHeader(newSecret())), "local")
	if err := g.Reload(); err != nil {
		t.Errorf("Reload() of an open listener = %v", err)
	}
	g.Close()
	g.Close()
}

func TestRequestID(t *testing.T) {
	g, _ := newGuard(t, Options{})
	for sent, kept := range map[string]bool{
		"mine-1": true, strings.Repeat("x", 128): true, "": false, strings.Repeat("x", 129): false, "tab\there": false, "ö": false,
	} {
		_, p := send(t, g, request("POST", "/", "X-Request-Id: "+sent))
		if (p.RequestID == sent) != kept || p.RequestID == "" {
			t.Errorf("request id %q came back as %q, kept: want %v", sent, p.RequestID, kept)
		}
	}
}

// TestBlobsAreOfAnyType is about writes under /blob/: they need not be JSON, and
// still no page can send one.
func TestBlobsAreOfAnyType(t *testing.T) {
	g, _ := newGuard(t, Options{})
	tests := []struct {
		name, method, target string
		headers              []string
		want                 string
	}{
		{"upload", "PUT", "/blob/acct/c/b", []string{"Content-Type: image/png"}, ""},
		{"upload without a type", "PUT", "/blob/acct/c/b", nil, ""},
		{"delete", "DELETE", "/blob/acct/c/b", nil, ""},
		{"batch", "POST", "/blob/acct?comp=batch", []string{"Content-Type: multipart/mixed; boundary=x"}, ""},

		{"form", "POST", "/blob/acct?comp=batch", []string{"Content-Type: text/plain"}, "unsupported_media_type"},
		{"form of parts", "POST", "/blob/acct?comp=batch", []string{"Content-Type: multipart/form-data; boundary=x"}, "unsupported_media_type"},
		{"form without a type", "POST", "/blob/acct?comp=batch", nil, "unsupported_media_type"},
		{"another path", "PUT", "/blobs/acct/c/b", []string{"Content-Type: image/png"}, "unsupported_media_type"},
		{"another spelling", "PUT", "/%62lob/acct/c/b", []string{"Content-Type: image/png"}, "unsupported_media_type"},
		{"foreign page", "PUT", "/blob/acct/c/b", []string{"Origin: https://evil.example"}, "forbidden"},
		{"foreign host", "PUT", "/blob/acct/c/b", []string{"Host: evil.example"}, "forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request(tt.method, tt.target, tt.headers...)
			switch tt.want {
			case "":
				wantCaller(t, g, r, "local")
			case "forbidden":
				wantCode(t, g, r, 403, tt.want)
			default:
				wantCode(t, g, r, 415, tt.want)
			}
		})
	}
}

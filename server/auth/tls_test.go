package auth

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// serveTLS starts a real server on loopback and returns its URL.
func serveTLS(t *testing.T, o TLSOptions, h http.Handler) string {
	t.Helper()
	o.Logger = new(logBuffer).logger()
	config, err := TLSConfig(o)
	if err != nil {
		t.Fatalf("TLSConfig() = %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() { server.Close(); <-done })
	return "https://" + listener.Addr().String()
}

// newClient trusts the CA and opens a new connection for each request.
func newClient(c *ca, certs ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.pool(), Certificates: certs},
		ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
}

func get(t *testing.T, client *http.Client, url string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("GET %s = %v", url, err)
	}
	answer.Body.Close()
	return answer
}

func TestTLSWithTokens(t *testing.T) {
	authority, path := newCA(t), tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: reader})
	g, _ := newGuard(t, Options{TokenFile: path})
	o := authority.files(t.TempDir(), authority.server())
	o.ClientCAFile = ""
	url := serveTLS(t, o, g.Wrap(whoami))

	answer := get(t, newClient(authority), url+"/v1/leases", bearerHeader(secret))
	if answer.StatusCode != 204 || answer.Header.Get("Caller") != "ci" {
		t.Errorf("GET = %d by %q, want 204 by ci", answer.StatusCode, answer.Header.Get("Caller"))
	}
	if answer.Proto != "HTTP/2.0" || answer.TLS.Version != tls.VersionTLS13 {
		t.Errorf("GET came over %s and %s, want HTTP/2.0 and TLS 1.3", answer.Proto, tls.VersionName(answer.TLS.Version))
	}
	if answer := get(t, newClient(authority), url+"/v1/leases"); answer.StatusCode != 401 {
		t.Errorf("GET without a token = %d, want 401", answer.StatusCode)
	}
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true} {
		config := &tls.Config{RootCAs: authority.pool(), MinVersion: version, MaxVersion: version}
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), config)
		if (err == nil) != want {
			t.Errorf("%s: Dial() = %v, want success: %v", tls.VersionName(version), err, want)
		}
		if err == nil {
			conn.Close()
		}
	}
}

func TestMutualTLS(t *testing.T) {
	authority, stranger, path := newCA(t), newCA(t), tokenPath(t)
	for name, cert := range map[string]string{"common": "worker 7", "dns": "w8.example", "uri": "spiffe://example/w9"} {
		mustCreate(t, path, TokenSpec{Name: name, Roles: reader, Cert: cert})
	}
	secret := mustCreate(t, path, TokenSpec{Name: "bearer", Roles: reader})
	g, _ := newGuard(t, Options{TokenFile: path})
	url := serveTLS(t, authority.files(t.TempDir(), authority.server()), g.Wrap(whoami))

	tests := []struct {
		name   string
		cert   []tls.Certificate
		header string
		want   string // the caller, or "" for 401
	}{
		{"common name", []tls.Certificate{authority.client("worker 7")}, "", "common"},
		{"DNS name", []tls.Certificate{authority.client("", "other.example", "w8.example")}, "", "dns"},
		{"URI", []tls.Certificate{authority.client("", "spiffe://example/w9")}, "", "uri"},
		{"two names of one token", []tls.Certificate{authority.client("w8.example", "w8.example")}, "", "dns"},
		{"names of two tokens", []tls.Certificate{authority.client("worker 7", "w8.example")}, "", ""},
		{"unknown name", []tls.Certificate{authority.client("worker 77")}, "", ""},
		{"no name", []tls.Certificate{authority.client("")}, "", ""},
		{"none", nil, "", ""},
		{"none, but a token", nil, bearerHeader(secret), "bearer"},
		{"token and certificate", []tls.Certificate{authority.client("worker 7")}, bearerHeader(secret), "bearer"},
		{"wrong token and certificate", []tls.Certificate{authority.client("worker 7")}, bearerHeader(newSecret()), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var headers []string
			if tt.header != "" {
				headers = append(headers, tt.header)
			}
			answer := get(t, newClient(authority, tt.cert...), url+"/v1/leases", headers...)
			if got := answer.Header.Get("Caller"); got != tt.want || (answer.StatusCode == 401) != (tt.want == "") {
				t.Errorf("GET = %d by %q, want %q", answer.StatusCode, got, tt.want)
			}
		})
	}

	server := authority.server() // for servers, not for clients
	expired := authority.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "worker 7"}, NotAfter: time.Now().Add(-time.Minute),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	for name, cert := range map[string]tls.Certificate{
		"of another CA": stranger.client("worker 7"), "expired": expired, "of a server": server,
	} {
		client := newClient(authority)
		send := cert // shown although the server did not ask for its CA
		client.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate =
			func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &send, nil }
		if answer, err := client.Get(url + "/v1/leases"); err == nil {
			answer.Body.Close()
			t.Errorf("GET with a certificate %s = %d, want no connection", name, answer.StatusCode)
		}
	}
}

// TestCertificateExpiresOnAnOpenConnection: the handshake was long ago.
func TestCertificateExpiresOnAnOpenConnection(t *testing.T) {
	authority, path := newCA(t), tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "w", Roles: reader, Cert: "w"})
	g, _ := newGuard(t, Options{TokenFile: path})
	leaf := authority.client("w").Leaf
	r := request("GET", "/")
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
	wantCaller(t, g, r, "w")
	leaf.NotAfter = time.Now().Add(-time.Second)
	wantCode(t, g, r, 401, "unauthenticated")
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{authority.client("w").Leaf}}
	wantCode(t, g, r, 401, "unauthenticated") // shown, but verified by nobody
}

func TestClientCertificateRequired(t *testing.T) {
	authority := newCA(t)
	o := authority.files(t.TempDir(), authority.server())
	o.RequireClientCert = true
	url := serveTLS(t, o, whoami)
	if answer, err := newClient(authority).Get(url); err == nil {
		answer.Body.Close()
		t.Errorf("GET without a certificate = %d, want no connection", answer.StatusCode)
	}
	get(t, newClient(authority, authority.client("anybody")), url)
}

// TestNoSessionOutlivesItsCA: with client certificates every connection shows
// its own again. Without them sessions may be resumed.
func TestNoSessionOutlivesItsCA(t *testing.T) {
	authority := newCA(t)
	o := authority.files(t.TempDir(), authority.server())
	for clientCA, want := range map[string]bool{o.ClientCAFile: false, "": true} {
		o.ClientCAFile = clientCA
		url := serveTLS(t, o, whoami)
		client := newClient(authority, authority.client("a"))
		client.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		get(t, client, url)
		if got := get(t, client, url).TLS.DidResume; got != want {
			t.Errorf("with client CA %q, the second connection resumed a session: %v, want %v", clientCA, got, want)
		}
	}
}

// TestCertificatesAreReadAgain sets the clock of the last look back, instead of
// waiting for it.
func TestCertificatesAreReadAgain(t *testing.T) {
	first, second := newCA(t), newCA(t)
	dir := t.TempDir()
	journal := new(logBuffer)
	o := first.files(dir, first.server())
	o.Logger = journal.logger()
	k := &tlsFiles{o: o, log: o.Logger, watched: []watchedFile{{path: o.CertFile}, {path: o.KeyFile}, {path: o.ClientCAFile}}}
	look := func() *tls.Config {
		k.checked = time.Time{}
		return k.current()
	}
	serves := func(config *tls.Config, c *ca) bool {
		leaf := config.Certificates[0].Leaf
		return leaf.CheckSignatureFrom(c.cert) == nil && config.ClientCAs.Equal(c.pool())
	}
	if !serves(look(), first) {
		t.Fatal("the first certificate is not served")
	}
	second.files(dir, second.server())
	if !serves(k.current(), first) {
		t.Error("the files were looked at again within a second")
	}
	if !serves(look(), second) {
		t.Error("the new certificate is not served")
	}

	good, err := os.ReadFile(o.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, spoilt := range []struct{ path, text string }{{o.KeyFile, "oops"}, {o.ClientCAFile, "oops"}, {o.CertFile, ""}} {
		before, _ := os.ReadFile(spoilt.path)
		writeFile(t, spoilt.path, spoilt.text)
		logged := strings.Count(journal.String(), "level=ERROR")
		for range 3 {
			if !serves(look(), second) {
				t.Errorf("with a broken %s another certificate is served", spoilt.path)
			}
		}
		if n := strings.Count(journal.String(), "level=ERROR") - logged; n != 1 {
			t.Errorf("a broken %s was logged %d times, want once", spoilt.path, n)
		}
		writeFile(t, spoilt.path, string(before))
	}
	if strings.Contains(journal.String(), string(bytes.Split(good, []byte("\n"))[1])) {
		t.Error("the log has the key")
	}
	first.files(dir, first.server())
	if !serves(look(), first) {
		t.Error("after the repair the new certificate is not served")
	}
}

// TestRotationOnARealListener waits out the second between two looks.
func TestRotationOnARealListener(t *testing.T) {
	first, second := newCA(t), newCA(t)
	dir := t.TempDir()
	url := serveTLS(t, first.files(dir, first.server()), whoami)
	get(t, newClient(first, first.client("a")), url)
	second.files(dir, second.server())
	// TLS runs on real connections, which no bubble can speed up.
	time.Sleep(poll + 100*time.Millisecond)
	get(t, newClient(second, second.client("a")), url)
	if answer, err := newClient(first, first.client("a")).Get(url); err == nil {
		answer.Body.Close()
		t.Error("the old certificate is still served")
	}
	// A client of the old CA that trusts the new server is turned away.
	client := newClient(second)
	old := first.client("a")
	client.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate =
		func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &old, nil }
	if answer, err := client.Get(url); err == nil {
		answer.Body.Close()
		t.Error("a client of the old CA was let in")
	}
}

func TestTLSConfigRefuses(t *testing.T) {
	authority := newCA(t)
	dir := t.TempDir()
	good := authority.files(dir, authority.server())
	for name, spoil := range map[string]func(*TLSOptions){
		"no certificate":        func(o *TLSOptions) { o.CertFile = "" },
		"missing key":           func(o *TLSOptions) { o.KeyFile = dir + "/none" },
		"key of another":        func(o *TLSOptions) { o.KeyFile = authority.files(t.TempDir(), authority.server()).KeyFile },
		"missing client CA":     func(o *TLSOptions) { o.ClientCAFile = dir + "/none" },
		"client CA without PEM": func(o *TLSOptions) { o.ClientCAFile = tokenPath(t); writeFile(t, o.ClientCAFile, "x") },
		"required without a CA": func(o *TLSOptions) { o.ClientCAFile, o.RequireClientCert = "", true },
	} {
		o := good
		spoil(&o)
		if _, err := TLSConfig(o); err == nil || !strings.HasPrefix(err.Error(), "TLS") {
			t.Errorf("TLSConfig() with %s = %v, want an error that begins with TLS", name, err)
		}
	}
	config, err := TLSConfig(good)
	if err != nil {
		t.Fatalf("TLSConfig() = %v", err)
	}
	if cert, err := config.GetCertificate(nil); err != nil || cert.Leaf == nil {
		t.Errorf("GetCertificate() = %v, %v", cert, err)
	}
}

// TestCertificatesAreNotForOtherSites: a browser shows a certificate by itself,
// so a page of another site must get nothing by it, not even in a frame. A browser
// sends no bearer token by itself.
func TestCertificatesAreNotForOtherSites(t *testing.T) {
	authority, path := newCA(t), tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "seven", Roles: reader, Cert: "worker 7"})
	secret := mustCreate(t, path, TokenSpec{Name: "bearer", Roles: reader})
	g, _ := newGuard(t, Options{TokenFile: path})
	url := serveTLS(t, authority.files(t.TempDir(), authority.server()), g.Wrap(whoami)) + "/v1/backup"
	client := newClient(authority, authority.client("worker 7"))
	framed := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}
	for name, tt := range map[string]struct {
		headers []string
		status  int
	}{
		"a program":             {nil, 204},
		"typed":                 {[]string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 204},
		"a link":                {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-User: ?1"}, 204},
		"a frame":               {framed, 403},
		"an image":              {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, 403},
		"a page with the token": {append(framed, bearerHeader(secret)), 204},
	} {
		if answer := get(t, client, url, tt.headers...); answer.StatusCode != tt.status {
			t.Errorf("%s: GET = %d, want %d", name, answer.StatusCode, tt.status)
		}
	}
}

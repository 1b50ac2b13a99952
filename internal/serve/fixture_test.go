//go:build unix

package serve

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testServer is a whole server in this process, so that its timeouts can be
// shorter than those of the program.
type testServer struct {
	t          *testing.T
	secure     bool
	json, blob string // addresses
	connection string // for SDKs
	trusted    *x509.CertPool
}

// start serves in memory, on free ports, until the test ends.
func start(t *testing.T, o Options, secure bool) *testServer {
	t.Helper()
	s := &testServer{t: t, secure: secure}
	o.Listen, o.InMemory = "127.0.0.1:0", true
	o.MaxWaiters = 100
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	if secure {
		o.TLS.CertFile, o.TLS.KeyFile, s.trusted = testCertificate(t)
	}
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Wait(t.Context()) }() // so that all servers of a test shut down at once
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("Wait = %v", err)
		}
	})
	for _, api := range server.APIs() {
		_, address, _ := strings.Cut(api.URL, "://")
		switch api.Key {
		case "json_api":
			s.json = address
		case "azure_blob":
			s.blob, s.connection = address, api.ConnectionString
		}
	}
	return s
}

// testCertificate writes a certificate for 127.0.0.1 and its key.
func testCertificate(t *testing.T) (certFile, keyFile string, trusted *x509.CertPool) {
	t.Helper()
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	pair := lender.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	trusted.AddCert(lender.Certificate())
	return certFile, keyFile, trusted
}

// dial connects to an address of the server, for a minute at most.
func (s *testServer) dial(address string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10) // unread answers soon fill it
	if s.secure {
		return tls.Client(c, &tls.Config{RootCAs: s.trusted, ServerName: "127.0.0.1"})
	}
	return c
}

// client returns one with connections of its own.
func (s *testServer) client() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.trusted}, ForceAttemptHTTP2: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func (s *testServer) url(address string) string {
	if s.secure {
		return "https://" + address
	}
	return "http://" + address
}

//go:build unix

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inProcess is a whole server in this process, so that its timeouts can be
// shorter than those of the program.
type inProcess struct {
	t       *testing.T
	secure  bool
	json    string // addresses
	blob    string
	told    map[string]string // what it printed
	trusted *x509.CertPool
}

// startInProcess serves in memory, on free ports, until the test ends.
func startInProcess(t *testing.T, f serveFlags, secure bool) *inProcess {
	t.Helper()
	s := &inProcess{t: t, secure: secure}
	f.listen, f.blob.listen, f.inMemory = "127.0.0.1:0", "127.0.0.1:0", true
	f.durability, f.logFormat, f.logLevel, f.waiters = "full", "text", "error", 100
	if secure {
		f.tls.CertFile, f.tls.KeyFile, s.trusted = testCertificate(t)
	}
	out, in := io.Pipe()
	a := &app{in: strings.NewReader(""), out: in, err: t.Output(), json: true}
	done := make(chan error, 1)
	go func() {
		err := a.serve(t.Context(), f) // so that all servers of a test shut down at once
		in.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("serve = %v", err)
		}
	})
	if err := json.NewDecoder(out).Decode(&s.told); err != nil {
		t.Fatalf("the server does not say where it is: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	_, s.json, _ = strings.Cut(s.told["json_api"], "://")
	_, s.blob, _ = strings.Cut(s.told["azure_blob"], "://")
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

// dial connects to an address of the server. Whatever the test waits for there
// must have happened within a minute.
func (s *inProcess) dial(address string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10) // soon full of answers that nobody reads
	if s.secure {
		return tls.Client(c, &tls.Config{RootCAs: s.trusted, ServerName: "127.0.0.1"})
	}
	return c
}

// client returns one with connections of its own.
func (s *inProcess) client() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.trusted}, ForceAttemptHTTP2: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func (s *inProcess) url(address string) string {
	if s.secure {
		return "https://" + address
	}
	return "http://" + address
}

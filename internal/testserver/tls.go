package testserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// Certificate is a certificate for 127.0.0.1 and localhost that nobody else trusts.
type Certificate struct {
	CertFile, KeyFile string // PEM

	Pair  tls.Certificate
	Roots *x509.CertPool
}

// NewCertificate makes a certificate and writes its files.
func NewCertificate(t T) *Certificate {
	t.Helper()
	dir := t.TempDir()
	c := &Certificate{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), Roots: x509.NewCertPool()}
	cert, key, err := selfSigned()
	if err == nil {
		err = os.WriteFile(c.CertFile, cert, 0o600)
	}
	if err == nil {
		err = os.WriteFile(c.KeyFile, key, 0o600)
	}
	if err == nil {
		c.Pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		t.Fatalf("certificate: %v", err)
	}
	c.Roots.AppendCertsFromPEM(cert)
	return c
}

// Client is a configuration that trusts the certificate and no other.
func (c *Certificate) Client() *tls.Config {
	return &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
}

// Server is a configuration that shows the certificate.
func (c *Certificate) Server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.Pair}, MinVersion: tls.VersionTLS12}
}

// TLS puts TLS in front of an HTTP server and returns the new HOST:PORT.
func TLS(t T, addr string, c *Certificate) string {
	t.Helper()
	return front(t, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr}), c)
}

// CosmosTLS puts TLS in front of a Cosmos, which then names the new address as the
// account's, and returns it. It also mends what is only the emulator's: a read of an
// item that is not there is 404.
func CosmosTLS(t T, addr string, c *Certificate) string {
	t.Helper()
	var outside atomic.Value
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: addr})
		r.Out.Header.Set("x-ms-documentdb-query-enablecrosspartition", "True")
		r.Out.Header.Del("Accept-Encoding") // the transport then decodes
	}}
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/" {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		body = bytes.ReplaceAll(body, []byte(addr), []byte(outside.Load().(string)))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	}
	at := front(t, proxy, c)
	outside.Store(at)
	return at
}

func front(t T, proxy *httputil.ReverseProxy, c *Certificate) string {
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	front := httptest.NewUnstartedServer(proxy)
	front.TLS = c.Server()
	front.Config.ErrorLog = proxy.ErrorLog
	front.StartTLS()
	t.Cleanup(front.Close)
	return front.Listener.Addr().String()
}

func selfSigned() (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leasehold test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}

package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLSOptions are the files of a listener with TLS.
type TLSOptions struct {
	// CertFile and KeyFile are the server's certificate, followed by those that
	// lead to its CA, and its key, in PEM.
	CertFile, KeyFile string

	// ClientCAFile has the certificates of the CAs whose client certificates
	// are trusted, in PEM. Empty: clients are not asked for one.
	ClientCAFile string

	// RequireClientCert refuses clients without a certificate, whether or not
	// their token is valid. Default: a certificate may be shown, and must then be
	// a good one.
	RequireClientCert bool

	// Logger gets reloads. Default: slog.Default().
	Logger *slog.Logger
}

// TLSConfig returns the configuration of a listener: TLS 1.2 at least, HTTP/2,
// and client certificates if there is a client CA. The files are read again
// when they change, at the first handshake after at most a second; while they
// do not fit together, those read before stay in use.
//
// A connection keeps what it was opened with. To shut out a client at once,
// revoke its token.
func TLSConfig(o TLSOptions) (*tls.Config, error) {
	if o.RequireClientCert && o.ClientCAFile == "" {
		return nil, errors.New("TLS: client certificates are required, and no client CA to judge them is given")
	}
	f := &tlsFiles{o: o, log: o.Logger}
	if f.log == nil {
		f.log = slog.Default()
	}
	for _, path := range []string{o.CertFile, o.KeyFile, o.ClientCAFile} {
		if path != "" {
			f.watched = append(f.watched, watchedFile{path: path})
		}
	}
	f.changed()
	config, err := f.read()
	if err != nil {
		return nil, err
	}
	f.config, f.checked = config, time.Now()
	outer := config.Clone()
	outer.Certificates = nil
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.current(), nil }
	outer.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &f.current().Certificates[0], nil
	}
	return outer, nil
}

// tlsFiles has the configuration that the files make.
type tlsFiles struct {
	o   TLSOptions
	log *slog.Logger

	mu      sync.Mutex
	watched []watchedFile
	checked time.Time
	problem string
	config  *tls.Config // never changed, only replaced
}

// current checks the files at most once a second, and only when somebody connects:
// so nothing has to run, and be stopped, in between.
func (f *tlsFiles) current() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < poll {
		return f.config
	}
	f.checked = time.Now()
	if !f.changed() && f.problem == "" {
		return f.config
	}
	config, err := f.read()
	switch {
	case err == nil:
		f.config, f.problem = config, ""
		f.log.Info("TLS files loaded", "certificate", f.o.CertFile)
	case err.Error() != f.problem:
		f.problem = err.Error()
		f.log.Error("the certificates stay as they were: the TLS files cannot be used", "error", f.problem)
	}
	return f.config
}

func (f *tlsFiles) changed() bool {
	changed := false
	for i := range f.watched {
		changed = f.watched[i].changed() || changed
	}
	return changed
}

func (f *tlsFiles) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.o.CertFile, f.o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s and key %s: %w", f.o.CertFile, f.o.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
	}
	if f.o.ClientCAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(f.o.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("TLS client CA: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TLS client CA %s: no certificate in it", f.o.ClientCAFile)
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	if f.o.RequireClientCert {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	// A resumed session would bring back a certificate that was verified with
	// older CAs.
	config.SessionTicketsDisabled = true
	return config, nil
}

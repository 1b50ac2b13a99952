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

	// RequireClientCert turns clients without a certificate away, be their
	// token valid or not. Default: a certificate may be shown, and must then be
	// a good one.
	RequireClientCert bool

	// Logger hears of reloads. Default: slog.Default().
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
	k := &keyring{o: o, log: o.Logger}
	if k.log == nil {
		k.log = slog.Default()
	}
	for _, path := range []string{o.CertFile, o.KeyFile, o.ClientCAFile} {
		if path != "" {
			k.stamps = append(k.stamps, stamp{path: path})
		}
	}
	k.changed()
	config, err := k.read()
	if err != nil {
		return nil, err
	}
	k.config, k.looked = config, time.Now()
	outer := config.Clone()
	outer.Certificates = nil
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil }
	outer.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &k.current().Certificates[0], nil
	}
	return outer, nil
}

// keyring has what the files say.
type keyring struct {
	o   TLSOptions
	log *slog.Logger

	mu     sync.Mutex
	stamps []stamp
	looked time.Time
	broken string
	config *tls.Config // never changed, only replaced
}

// current looks at the files at most once in a while, and only when somebody
// connects: so nothing has to run, and be stopped, in between.
func (k *keyring) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) < poll {
		return k.config
	}
	k.looked = time.Now()
	if !k.changed() && k.broken == "" {
		return k.config
	}
	config, err := k.read()
	switch {
	case err == nil:
		k.config, k.broken = config, ""
		k.log.Info("TLS files loaded", "certificate", k.o.CertFile)
	case err.Error() != k.broken:
		k.broken = err.Error()
		k.log.Error("the certificates stay as they were: the TLS files cannot be used", "error", k.broken)
	}
	return k.config
}

func (k *keyring) changed() bool {
	changed := false
	for i := range k.stamps {
		changed = k.stamps[i].changed() || changed
	}
	return changed
}

func (k *keyring) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(k.o.CertFile, k.o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s and key %s: %w", k.o.CertFile, k.o.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
	}
	if k.o.ClientCAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(k.o.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("TLS client CA: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TLS client CA %s: no certificate in it", k.o.ClientCAFile)
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	if k.o.RequireClientCert {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	// A resumed session would bring back a certificate that was judged by the
	// CAs of yesterday.
	config.SessionTicketsDisabled = true
	return config, nil
}

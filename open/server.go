package open

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

func openServer(_ context.Context, u storeURL, o Options) (leasehold.Store, error) {
	config, err := u.tls(o.TLS)
	if err != nil {
		return nil, err
	}
	store, err := remote.Open(u.scheme+":"+u.rest, &remote.Options{Token: o.Token, TLS: config, Trace: o.Trace})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// ServerTLS returns the address and the TLS configuration of an http or https URL,
// for calls to a server that are no lease operations.
func ServerTLS(rawURL string, base *tls.Config) (address string, config *tls.Config, err error) {
	u, _, err := parse(rawURL)
	if err != nil {
		return "", nil, err
	}
	config, err = u.tls(base)
	return u.scheme + ":" + u.rest, config, err
}

// alwaysTLS is tls for what is spoken over TLS only: never nil.
func (u storeURL) alwaysTLS(o Options) (*tls.Config, error) {
	config, err := u.tls(o.TLS)
	if config == nil && err == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return config, err
}

// tls adds the URL's files to the configuration.
func (u storeURL) tls(base *tls.Config) (*tls.Config, error) {
	ca, cert, key := u.params.Get("ca"), u.params.Get("cert"), u.params.Get("key")
	if ca == "" && cert == "" && key == "" {
		return base, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		config = base.Clone()
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, invalid("has a ca that cannot be read: %v", withoutPath(err))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, invalid("has a ca without a certificate in PEM form")
		}
	}
	if (cert == "") != (key == "") {
		return nil, invalid("has only one of cert and key; a client certificate needs both")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, invalid("has a cert and key that cannot be used: %v", withoutPath(err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

package azblob

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// isTLS reports whether no connection came about because of a certificate or
// because one side does not speak TLS.
func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
		record       tls.RecordHeaderError
	)
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &record)
}

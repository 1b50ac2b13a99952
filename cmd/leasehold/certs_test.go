package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCerts writes ca.pem, a server's cert.pem and key.pem for 127.0.0.1, and
// client.pem and client.key for the name worker-7.
func cmdCerts(ts *testscript.TestScript, neg bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	ts.Check(err)
	writePEM(ts, "ca.pem", "CERTIFICATE", der)
	issue := func(template x509.Certificate, cert, keyFile string) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		template.NotBefore, template.NotAfter = ca.NotBefore, ca.NotAfter
		der, err := x509.CreateCertificate(rand.Reader, &template, ca, &own.PublicKey, key)
		ts.Check(err)
		writePEM(ts, cert, "CERTIFICATE", der)
		der, err = x509.MarshalPKCS8PrivateKey(own)
		ts.Check(err)
		writePEM(ts, keyFile, "PRIVATE KEY", der)
	}
	issue(x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, "cert.pem", "key.pem")
	issue(x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "worker-7"}, DNSNames: []string{"worker-7"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, "client.pem", "client.key")
}

func writePEM(ts *testscript.TestScript, name, kind string, der []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/test/process"
	"github.com/rogpeppe/go-internal/testscript"
)

type serverKey struct{}

// scriptServer is the one server that a script has at a time.
type scriptServer struct {
	cmd    *exec.Cmd
	exited chan error
}

// cmdServer is for scripts:
//
//	server start [FLAGS…]   starts it on a free port and waits until it answers
//	server stop [SIGNAL]    ends it and checks that it went well
//	server kill             ends it with SIGKILL
//
// Its log is server.log. LEASEHOLD_STORE then names it, and ADDRESS is its
// host and port.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serverKey{}).(*scriptServer)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server start|stop|kill")
	}
	switch args[0] {
	case "start":
		s.start(ts, args[1:])
	case "stop":
		s.stop(ts, args[1:])
	case "kill":
		s.kill()
	default:
		ts.Fatalf("server %s: want start, stop or kill", args[0])
	}
}

func (s *scriptServer) start(ts *testscript.TestScript, flags []string) {
	path, err := exec.LookPath("leasehold")
	ts.Check(err)
	s.cmd = exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	s.cmd.Env = append(os.Environ(), "GORACE="+process.RaceOptions)
	s.cmd.Dir = ts.Getenv("WORK")
	log, err := os.OpenFile(ts.MkAbs("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer log.Close()
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	lines, exited := make(chan string, 1), make(chan error, 1)
	s.exited = exited
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			select {
			case lines <- scan.Text():
			default: // only the first line is waited for
			}
		}
		exited <- s.cmd.Wait()
	}()
	select {
	case line := <-lines:
		url := process.ServerURL(line)
		if url == "" {
			ts.Fatalf("the server said %q, want JSON API and its address", line)
		}
		_, address, _ := strings.Cut(url, "://")
		ts.Setenv("LEASEHOLD_STORE", url)
		ts.Setenv("ADDRESS", address)
	case err := <-exited:
		exited <- err
		ts.Fatalf("the server ended before it answered: %v\n%s", err, ts.ReadFile("server.log"))
	case <-time.After(30 * time.Second):
		ts.Fatalf("the server did not answer")
	}
}

func (s *scriptServer) stop(ts *testscript.TestScript, args []string) {
	signal := syscall.SIGTERM
	if len(args) > 0 && args[0] == "INT" {
		signal = syscall.SIGINT
	}
	ts.Check(s.cmd.Process.Signal(signal))
	select {
	case err := <-s.exited:
		s.cmd = nil
		if err != nil {
			ts.Fatalf("the server ended with %v, want exit code 0\n%s", err, ts.ReadFile("server.log"))
		}
	case <-time.After(20 * time.Second):
		ts.Fatalf("the server did not end after %v", signal)
	}
}

// kill ends the server if it still runs.
func (s *scriptServer) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

type clockKey struct{}

// cmdClock is for scripts that promise a time: clock start, and clock below DURATION.
func cmdClock(ts *testscript.TestScript, neg bool, args []string) {
	started := ts.Value(clockKey{}).(*time.Time)
	switch {
	case !neg && len(args) == 1 && args[0] == "start":
		*started = time.Now()
	case !neg && len(args) == 2 && args[0] == "below":
		most, err := time.ParseDuration(args[1])
		ts.Check(err)
		if took := time.Since(*started); started.IsZero() || took > most {
			ts.Fatalf("clock: it took %v, want %v at most", took, most)
		} else {
			ts.Logf("clock: it took %v", took)
		}
	default:
		ts.Fatalf("usage: clock start|below DURATION")
	}
}

// cmdSamePast checks that the command line and the server say the same of this moment,
// of one resource or of all.
func cmdSamePast(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: samepast [RESOURCE]")
	}
	at := time.Now().UTC().Format(time.RFC3339Nano)
	query := url.Values{"time": {at}}
	if len(args) == 1 {
		query.Set("resource", args[0])
	}
	ts.Check(ts.Exec("leasehold", append([]string{"history", "--json", "--at", at}, args...)...))
	answer, err := http.Get(ts.Getenv("LEASEHOLD_STORE") + "/v1/history/at?" + query.Encode())
	ts.Check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	var said, served map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &said))
	ts.Check(json.Unmarshal(body, &served))
	if diff := cmp.Diff(served, said); diff != "" || len(served) == 0 {
		ts.Fatalf("the command line says something else of %v at %s (-served +said):\n%s", args, at, diff)
	}
}

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

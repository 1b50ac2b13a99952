package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcd is a server spoken to through concurrency.Mutex. Workers are spread over
// a few clients, which is faster for it than one.
type etcd struct {
	label    string
	endpoint string
	process  *os.Process
	stop     func()
	clients  []*clientv3.Client
	sessions []*concurrency.Session
	next     int
}

const etcdClients = 8

func (e *etcd) name() string { return e.label }
func (e *etcd) pid() int     { return e.process.Pid }

// worker needs no other way to wait: Lock is one transaction, and waits after it
// only if somebody else was first.
func (e *etcd) worker(ctx context.Context, name string, how style) (locker, error) {
	if how == alone {
		c, s, err := newSession(ctx, e.endpoint)
		if err != nil {
			return nil, err
		}
		return etcdMutex{concurrency.NewMutex(s, "/bench/"+name), func() { s.Close(); c.Close() }}, nil
	}
	e.next++
	s := e.sessions[e.next%len(e.sessions)]
	return etcdMutex{concurrency.NewMutex(s, "/bench/"+name), func() {}}, nil
}

type etcdMutex struct {
	*concurrency.Mutex
	end func()
}

func (m etcdMutex) lock(ctx context.Context) error   { return m.Lock(ctx) }
func (m etcdMutex) unlock(ctx context.Context) error { return m.Unlock(ctx) }
func (m etcdMutex) close()                           { m.end() }

// newSession makes a client with a connection and a lease of its own.
func newSession(ctx context.Context, endpoint string) (*clientv3.Client, *concurrency.Session, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	s, err := concurrency.NewSession(c, concurrency.WithTTL(60), concurrency.WithContext(ctx))
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, s, nil
}

func (e *etcd) connect(ctx context.Context, endpoint string) error {
	e.endpoint = endpoint
	for range etcdClients {
		c, s, err := newSession(ctx, endpoint)
		if err != nil {
			return err
		}
		e.clients, e.sessions = append(e.clients, c), append(e.sessions, s)
	}
	return nil
}

func (e *etcd) close() {
	for _, s := range e.sessions {
		s.Close()
	}
	for _, c := range e.clients {
		c.Close()
	}
	e.stop()
}

// startDebianEtcd starts the etcd of Debian's package etcd-server.
func startDebianEtcd(ctx context.Context, dir string) (peer, error) {
	client, peerURL := freeURL(), freeURL()
	cmd := exec.Command("etcd", "--data-dir", filepath.Join(dir, "debian"), "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL,
		"--initial-cluster", "default="+peerURL)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start etcd (apt-get install etcd-server): %w", err)
	}
	e := &etcd{label: "etcd " + debianVersion(), process: cmd.Process, stop: func() { cmd.Process.Kill(); cmd.Wait() }}
	if err := e.connect(ctx, client); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

func debianVersion() string {
	out, err := exec.Command("etcd", "--version").Output()
	var version string
	if _, scan := fmt.Sscanf(string(out), "etcd Version: %s", &version); err != nil || scan != nil {
		return "of unknown version"
	}
	return version
}

// startEmbeddedEtcd starts the Go module's server inside a process of its own
// kind: this one, run again, so that neither peer shares a heap with a client.
func startEmbeddedEtcd(ctx context.Context, dir string) (peer, error) {
	client, peerURL := freeURL(), freeURL()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "BENCH_EMBED_ETCD="+client, "BENCH_EMBED_PEER="+peerURL, "BENCH_EMBED_DIR="+filepath.Join(dir, "embedded"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	e := &etcd{label: "etcd 3.7 (Go module)", process: cmd.Process, stop: func() { cmd.Process.Kill(); cmd.Wait() }}
	if err := e.connect(ctx, client); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// init turns the process into an etcd server if it was started as one.
func init() {
	client := os.Getenv("BENCH_EMBED_ETCD")
	if client == "" {
		return
	}
	if err := serveEtcd(client, os.Getenv("BENCH_EMBED_PEER"), os.Getenv("BENCH_EMBED_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, "embedded etcd:", err)
	}
	os.Exit(1)
}

func serveEtcd(client, peerURL, dir string) error {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "error"
	c, err := url.Parse(client)
	if err != nil {
		return err
	}
	p, err := url.Parse(peerURL)
	if err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*c}, []url.URL{*c}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*p}, []url.URL{*p}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	return <-server.Err()
}

// freeURL returns a loopback address that was free a moment ago.
func freeURL() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

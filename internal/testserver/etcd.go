package testserver

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Etcd starts Debian's etcd, one member with its data in the test's folder, and more
// arguments.
func Etcd(t T, args ...string) *Server {
	t.Helper()
	server, dir := program(t, "etcd"), filepath.Join(t.TempDir(), "etcd")
	return start(t, func(port int) *exec.Cmd {
		// Nobody connects to the peer's address of a single member.
		return exec.Command(server, append(etcdArguments("one", dir, "http", port, "http://127.0.0.1:0", "one=http://127.0.0.1:2380", "http://127.0.0.1:2380"), args...)...)
	}, func(addr string) error { return healthyEtcd(addr, nil) })
}

// EtcdTLS is Etcd with TLS for clients alone, which need no certificate.
func EtcdTLS(t T, c *Certificate, args ...string) *Server {
	t.Helper()
	server, dir := program(t, "etcd"), filepath.Join(t.TempDir(), "etcd")
	args = append([]string{"--cert-file", c.CertFile, "--key-file", c.KeyFile}, args...)
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, append(etcdArguments("one", dir, "https", port, "http://127.0.0.1:0", "one=http://127.0.0.1:2380", "http://127.0.0.1:2380"), args...)...)
	}, func(addr string) error { return healthyEtcd(addr, c.Client()) })
}

// EtcdCluster starts three members. They find each other, so that each answers
// only when there is a leader. Addresses stay the same over Kill and Start.
func EtcdCluster(t T, args ...string) []*Server {
	t.Helper()
	members, _ := etcdCluster(t, func(t T) *Peers { return nil }, args)
	return members
}

// EtcdPeers is EtcdCluster with members that can be cut off from each other.
func EtcdPeers(t T, args ...string) ([]*Server, *Peers) {
	t.Helper()
	return etcdCluster(t, newPeers, args)
}

func etcdCluster(t T, newPeers func(T) *Peers, args []string) ([]*Server, *Peers) {
	t.Helper()
	server, dir := program(t, "etcd"), t.TempDir()
	var err error
	for try := range 5 {
		peers := newPeers(t)
		members := etcdMembers(t, server, filepath.Join(dir, strconv.Itoa(try)), peers, args)
		if err = startAll(members); err == nil {
			for _, m := range members {
				t.Cleanup(m.Kill)
			}
			return members, peers
		}
	}
	t.Fatalf("%v", err)
	return nil, nil
}

const clusterSize = 3

// etcdMembers are the members of a cluster, with a network between them if it is to be
// broken.
func etcdMembers(t T, server, dir string, peers *Peers, args []string) []*Server {
	var listen, known, all []string
	for i := range clusterSize {
		if peers == nil {
			listen = append(listen, "http://"+loopback(FreePort(t)))
			known = append(known, listen[i])
		} else {
			listen = append(listen, "http://"+peers.real[i])
			known = append(known, "http://"+peers.known(i))
		}
		all = append(all, fmt.Sprintf("m%d=%s", i, known[i]))
	}
	members := make([]*Server, clusterSize)
	for i := range members {
		port, name := FreePort(t), fmt.Sprintf("m%d", i)
		args := append(etcdArguments(name, filepath.Join(dir, name), "http", port, listen[i], strings.Join(all, ","), known[i]), args...)
		var env []string // nil: this process's
		if peers != nil {
			env = append(os.Environ(), "http_proxy=http://"+peers.proxy(t, i), "HTTP_PROXY=", "no_proxy=", "NO_PROXY=")
		}
		members[i] = &Server{
			t: t, Addr: loopback(port), answers: func(addr string) error { return healthyEtcd(addr, nil) },
			command: func() *exec.Cmd {
				cmd := exec.Command(server, args...)
				cmd.Env = env
				return cmd
			},
		}
	}
	return members
}

// startAll starts servers that answer only together.
func startAll(servers []*Server) error {
	started := make(chan error, len(servers))
	for _, s := range servers {
		go func() { started <- s.start() }()
	}
	var first error
	for range servers {
		if err := <-started; err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		for _, s := range servers {
			s.Kill()
		}
	}
	return first
}

func etcdArguments(name, dir, scheme string, port int, peer, cluster, advertised string) []string {
	client := scheme + "://" + loopback(port)
	return []string{
		"--name", name, "--data-dir", dir,
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", advertised,
		"--initial-cluster", cluster, "--initial-cluster-token", filepath.Base(filepath.Dir(dir)),
		"--logger", "zap", "--log-level", "error",
	}
}

// healthyEtcd is satisfied when the member has a leader and can write.
func healthyEtcd(addr string, config *tls.Config) error {
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	resp, err := client.Get(scheme + "://" + addr + "/health")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd: %s %.200q", resp.Status, body)
	}
	return err
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

// server is `leasehold serve` with the durable default, spoken to through the
// shipped client.
type server struct {
	cmd     *exec.Cmd
	address string
	store   *remote.Store
}

// listening finds the address that serve prints.
var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

func (b *bench) startLeasehold(ctx context.Context, dir string) (peer, error) {
	cmd := exec.Command(b.binary, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "leasehold"), "--log-level", "error")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start leasehold: %w", err)
	}
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = listening.FindString(lines.Text())
	}
	go io.Copy(io.Discard, out)
	s := &server{cmd: cmd, address: address}
	if s.store, err = remote.Open(address, nil); err != nil {
		s.close()
		return nil, err
	}
	_, err = s.store.Status(ctx, "ready")
	return s, err
}

func (s *server) name() string { return "leasehold" }
func (s *server) pid() int     { return s.cmd.Process.Pid }

func (s *server) worker(_ context.Context, name string, how style) (locker, error) {
	switch how {
	case alone:
		return newCaller(s.address, name), nil
	case contended:
		return &lease{store: s.store, name: name, acquire: s.store.Wait}, nil
	}
	return &lease{store: s.store, name: name, acquire: s.store.Acquire}, nil
}

func (s *server) close() {
	if s.store != nil {
		s.store.Close()
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

type lease struct {
	store   *remote.Store
	name    string
	acquire func(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error)
	held    leasehold.Grant
}

// lock waits like etcd's Lock does, in the queue, where there is something to
// wait for. A timeout means nothing to an acquire that does not wait.
func (l *lease) lock(ctx context.Context) (err error) {
	r := leasehold.AcquireRequest{Resource: l.name, Holder: "bench", TTL: time.Minute, Timeout: leasehold.NoTimeout}
	l.held, err = l.acquire(ctx, r)
	return err
}

func (l *lease) unlock(ctx context.Context) error {
	_, err := l.store.Release(ctx, leasehold.ReleaseRequest{ID: l.held.ID, Resource: l.name})
	return err
}

func (l *lease) close() {}

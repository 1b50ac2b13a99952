package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// peer is one system under test: a real server, and Azure's client of it.
type peer struct {
	name string
	ours bool
	// command is how the server is started, to listen on a free address and,
	// unless flags say otherwise, to keep its data in a directory.
	command func(host, port, data string) *exec.Cmd

	cmd     *exec.Cmd
	exited  chan struct{}
	service *service.Client
	starts  int
}

// choosePeers puts durable leasehold first: the targets are for that one.
func (b *bench) choosePeers() (err error) {
	// The servers run in a directory of their own, so paths must not depend
	// on this one.
	for _, path := range []*string{&b.binary, &b.azurite} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	leasehold := func(name string, flags ...string) *peer {
		return &peer{name: name, ours: true, command: func(host, port, data string) *exec.Cmd {
			words := []string{"serve", "--listen", "127.0.0.1:0", "--blob-listen", net.JoinHostPort(host, port), "--log-level", "error"}
			if len(flags) == 0 {
				words = append(words, "--data", data)
			}
			return exec.Command(b.binary, append(words, flags...)...)
		}}
	}
	// Without its logs, and with connections that outlast a round, azurite is
	// at its best.
	azurite := func(name string, flags ...string) *peer {
		return &peer{name: name, command: func(host, port, data string) *exec.Cmd {
			words := []string{b.azurite, "--blobHost", host, "--blobPort", port,
				"--silent", "--skipApiVersionCheck", "--disableTelemetry", "--blobKeepAliveTimeout", "600"}
			if len(flags) == 0 {
				words = append(words, "--location", data)
			}
			return exec.Command("node", append(words, flags...)...)
		}}
	}
	if b.binary != "" {
		b.peers = append(b.peers, leasehold("leasehold, durable"), leasehold("leasehold, in memory", "--in-memory"))
	}
	if b.azurite != "" {
		b.peers = append(b.peers, azurite("azurite, in memory", "--inMemoryPersistence"), azurite("azurite, on disk"))
	}
	return err
}

// start spawns the server and returns at its first answer.
func (p *peer) start(ctx context.Context, dir string) error {
	host, port, err := freeAddress()
	if err != nil {
		return err
	}
	p.starts++
	data := filepath.Join(dir, fmt.Sprintf("%s %d", p.name, p.starts))
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	p.cmd = p.command(host, port, data)
	p.cmd.Dir = dir // deleted with whatever else they write
	p.cmd.Stderr = os.Stderr
	if p.service, err = connect(net.JoinHostPort(host, port)); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) { cmd.Wait(); close(exited) }(p.cmd, p.exited)
	return p.await(ctx)
}

func (p *peer) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := p.service.GetProperties(ctx, nil)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it answered", p.name)
		case <-ctx.Done():
			p.stop()
			return fmt.Errorf("%s does not answer: %w", p.name, errors.Join(ctx.Err(), err))
		case <-time.After(time.Millisecond):
		}
	}
}

func (p *peer) stop() {
	p.cmd.Process.Kill()
	<-p.exited
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress() (host, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	return net.SplitHostPort(l.Addr().String())
}

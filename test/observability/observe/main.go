//go:build unix

// Command observe starts a server, a program that uses it, and Debian's Prometheus
// with the files of deploy/observability, all on loopback, and prints their
// addresses. Ctrl-C ends them. It is for people to try: `make observe`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	binary := flag.String("leasehold", ".bin/leasehold", "the program")
	shipped := flag.String("files", "deploy/observability", "the folder of prometheus.yml and rules")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *shipped); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

// run starts everything and ends it when the context does, or when a part ends by
// itself.
func run(ctx context.Context, binary, shipped string) error {
	dir, err := os.MkdirTemp("", "leasehold-observe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	addresses, err := freeAddresses(4)
	if err != nil {
		return err
	}
	server, blob, program, prometheus := addresses[0], addresses[1], addresses[2], addresses[3]
	config, err := writeConfig(shipped, dir, server, program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 3)
	go func() {
		ended <- runProcess(ctx, binary, "serve", "--listen", server, "--blob-listen", blob, "--data", filepath.Join(dir, "data"), "--log-level", "warn")
	}()
	go func() {
		ended <- runProcess(ctx, "prometheus", "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "prometheus"), "--web.listen-address", prometheus, "--log.level", "error")
	}()
	go func() { ended <- serveLoad(ctx, "http://"+server, program) }()
	fmt.Printf("server      http://%s/metrics\nprogram     http://%s/metrics\nPrometheus  http://%s/alerts  http://%s/graph\ndashboard   import %s into Grafana\nCtrl-C ends all.\n",
		server, program, prometheus, prometheus, filepath.Join(shipped, "grafana", "leasehold.json"))
	for range cap(ended) {
		err = errors.Join(err, <-ended)
		cancel()
	}
	return err
}

// runProcess runs a process that gets SIGTERM when the context ends. To end earlier is
// an error.
func runProcess(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process alone
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%s ended: %w", name, err)
}

// writeConfig copies the configuration with these addresses, and shorter intervals.
func writeConfig(shipped, dir, server, program string) (string, error) {
	addresses := strings.NewReplacer("127.0.0.1:8105", server, "127.0.0.1:9464", program, "interval: 15s", "interval: 2s")
	for _, name := range []string{"prometheus.yml", "rules/recording.yml", "rules/alerts.yml"} {
		text, err := os.ReadFile(filepath.Join(shipped, name))
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(addresses.Replace(string(text))), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "prometheus.yml"), nil
}

// freeAddresses returns loopback addresses on which nothing listened a moment ago.
func freeAddresses(n int) (addresses []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

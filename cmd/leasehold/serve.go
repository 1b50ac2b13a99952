package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/spf13/cobra"
)

const (
	defaultListen = "127.0.0.1:8105"
	defaultData   = "leasehold-data"
	dataFile      = "leases.db"
	maxReserve    = 1 << 20 // MiB
)

const serveHelp = `Serve leases until SIGTERM or Ctrl-C. When every door answers, the server prints
where each one is, one line per door.

Leases are kept in the data directory, durable before they are answered for. One
server can have it at a time. --store serves another store instead; blobs, and
the leases on them, are in the data directory all the same. --in-memory keeps
everything in memory, for tests: nothing of it is left afterwards.

Without a token file the server trusts whoever reaches it, and so listens only to
this machine. To listen elsewhere, give it --token-file, --tls-cert and --tls-key;
--insecure does without, on a network where everybody may hold and break leases.`

const serveExample = `  leasehold serve
  leasehold serve --listen 127.0.0.1:0 --data /var/lib/leasehold
  leasehold serve --blob-listen off
  leasehold serve --in-memory
  leasehold token new ci --role holder --token-file tokens > ci.secret
  leasehold serve --listen 0.0.0.0:8105 --token-file tokens --tls-cert cert.pem --tls-key key.pem`

// serveFlags steer a server.
type serveFlags struct {
	listen, data, durability string
	inMemory                 bool
	reserve                  int64 // MiB
	blob                     blobFlags
	tokenFile                string
	groupMayRead             bool
	rate                     float64
	hosts                    []string
	tls                      auth.TLSOptions
	insecure                 bool
	connections, waiters     int
	timeouts                 timeouts
	logFormat, logLevel      string
}

func newServe(a *app) *cobra.Command {
	f := serveFlags{timeouts: defaultTimeouts}
	cmd := &cobra.Command{
		Use: "serve", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Serve leases over HTTP", Long: serveHelp, Example: serveExample,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		f.blob.settle(f.listen)
		data := cmd.Flags().Changed("data") || cmd.Flags().Changed("durability")
		switch {
		case f.inMemory && (data || a.storeURL != ""):
			return usagef("--in-memory needs no --data, --durability or --store")
		case a.storeURL != "" && data && f.blob.off():
			return usagef("--data and --durability are for the data directory; --store names another store")
		case cmd.Flags().Changed("rate") && f.rate == 0:
			return usagef("--rate is 0, which would serve nobody; want a number of requests a second, or -1 for any")
		}
		return a.serve(ctx, f)
	}
	return cmd
}

func (f *serveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "address of the JSON API; port 0 picks a free one")
	flags.StringVar(&f.data, "data", defaultData, "data directory; made if it is missing")
	flags.StringVar(&f.durability, "durability", "full", "full survives power loss, normal only kill -9")
	flags.BoolVar(&f.inMemory, "in-memory", false, "keep everything in memory, and nothing afterwards")
	flags.Int64Var(&f.reserve, "reserve", 64, "MiB of disk kept back, so that leases and deletes go on when the disk is full; 0 keeps none")
	f.blob.add(cmd)
	flags.StringVar(&f.tokenFile, "token-file", "", "file of the tokens that callers must show; see leasehold token")
	flags.BoolVar(&f.groupMayRead, "token-file-group", false, "accept a token file that its group can read")
	flags.Float64Var(&f.rate, "rate", 0, "requests a second that each token may make; -1 is any number (default 1000)")
	flags.StringArrayVar(&f.hosts, "host", nil, "further Host name to answer to without tokens (repeatable)")
	flags.StringVar(&f.tls.CertFile, "tls-cert", "", "certificate of the server, in PEM")
	flags.StringVar(&f.tls.KeyFile, "tls-key", "", "its key")
	flags.StringVar(&f.tls.ClientCAFile, "client-ca", "", "certificate authority of client certificates, which then stand for tokens")
	flags.BoolVar(&f.tls.RequireClientCert, "require-client-cert", false, "turn clients without a certificate away")
	flags.BoolVar(&f.insecure, "insecure", false, "listen beyond this machine without tokens or TLS")
	flags.IntVar(&f.connections, "max-connections", 10_000, "how many connections are served at a time")
	flags.IntVar(&f.waiters, "max-waiters", 10_000, "how many requests may wait in queues at a time")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json, on standard error")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
}

func (f serveFlags) logger(a *app) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, usagef("--log-level is %q; want debug, info, warn or error", f.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(a.err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.err, o)), nil
	}
	return nil, usagef("--log-format is %q; want text or json", f.logFormat)
}

func (f serveFlags) secure() bool { return f.tls.CertFile != "" }

func (f serveFlags) validate() error {
	switch {
	case (f.tls.CertFile == "") != (f.tls.KeyFile == ""):
		return usagef("--tls-cert and --tls-key go together")
	case f.tls.ClientCAFile != "" && !f.secure():
		return usagef("--client-ca needs TLS; give --tls-cert and --tls-key")
	case f.tls.ClientCAFile != "" && f.tokenFile == "":
		return usagef("--client-ca needs --token-file, which says what each certificate may do")
	case f.durability != "full" && f.durability != "normal":
		return usagef("--durability is %q; want full or normal", f.durability)
	case f.reserve < 0 || f.reserve > maxReserve:
		return usagef("--reserve is %d; want MiB from 0 to %d", f.reserve, maxReserve)
	case f.connections < 1 || f.waiters < 1:
		return usagef("--max-connections and --max-waiters must be at least 1")
	}
	if err := auth.CheckBind(f.listen, f.tokenFile != "", f.secure(), f.insecure); err != nil {
		return asUsage(err)
	}
	return f.blob.validate(f.secure(), f.insecure)
}

// serve opens the doors and keeps them open until ctx ends.
func (a *app) serve(ctx context.Context, f serveFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	logger, err := f.logger(a)
	if err != nil {
		return err
	}
	// Listening comes first: whoever finds the database in use is told the
	// address, which with port 0 is not known before.
	listener, err := listen(ctx, f.listen, "--listen")
	if err != nil {
		return err
	}
	defer listener.Close()
	var blobListener net.Listener
	if !f.blob.off() {
		if blobListener, err = listen(ctx, f.blob.listen, "--blob-listen"); err != nil {
			return err
		}
		defer blobListener.Close()
	}
	// The store comes last: a server that cannot be must not leave a directory.
	porch, err := newPorch(f, logger)
	if err != nil {
		return err
	}
	defer porch.guard.Close()
	url := doorURL(listener, f.secure())
	rooms, err := a.openRooms(ctx, f, url, logger)
	if err != nil {
		return err
	}
	h := &house{a: a, log: logger, rooms: rooms}
	h.addJSON(f, porch, listener, url)
	if rooms.blobs != nil {
		h.addBlobs(f, porch, blobListener, doorURL(blobListener, f.secure()))
	}
	logger.Info("serving", "url", url, "version", readBuildInfo().Version, "pid", os.Getpid(),
		"tokens", f.tokenFile != "", "tls", f.secure())
	return errors.Join(h.open(ctx), rooms.close())
}

// listen says what to do about an address that cannot be had.
func listen(ctx context.Context, address, flag string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; perhaps a server runs there already (leasehold health tells); %s chooses another address, and port 0 a free one", err, flag)
	}
	return nil, &exitError{exitUnavailable, err.Error()}
}

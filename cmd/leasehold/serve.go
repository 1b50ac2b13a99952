package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/spf13/cobra"
)

const (
	defaultListen = "127.0.0.1:8105"
	defaultData   = "leasehold-data"
	dataFile      = "leases.db"
)

const serveHelp = `Serve leases until SIGTERM or Ctrl-C. When every door answers, the server prints
where each one is, one line per door.

Leases are kept in the data directory, durable before they are answered for. One
server can have it at a time. --store serves another store instead.

Without a token file the server trusts whoever reaches it, and so listens only to
this machine. To listen elsewhere, give it --token-file, --tls-cert and --tls-key;
--insecure does without, on a network where everybody may hold and break leases.`

const serveExample = `  leasehold serve
  leasehold serve --listen 127.0.0.1:0 --data /var/lib/leasehold
  leasehold token new ci --role holder --token-file tokens > ci.secret
  leasehold serve --listen 0.0.0.0:8105 --token-file tokens --tls-cert cert.pem --tls-key key.pem`

// serveFlags steer a server.
type serveFlags struct {
	listen, data, durability string
	tokenFile                string
	groupMayRead             bool
	rate                     float64
	hosts                    []string
	tls                      auth.TLSOptions
	insecure                 bool
	connections, waiters     int
	logFormat, logLevel      string
}

func newServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Serve leases over HTTP", Long: serveHelp, Example: serveExample,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		if a.storeURL != "" && (cmd.Flags().Changed("data") || cmd.Flags().Changed("durability")) {
			return usagef("--data and --durability are for the data directory; --store names another store")
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
	case f.connections < 1 || f.waiters < 1:
		return usagef("--max-connections and --max-waiters must be at least 1")
	}
	return asUsage(auth.CheckBind(f.listen, f.tokenFile != "", f.secure(), f.insecure))
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
	listener, err := listen(ctx, f.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	url := doorURL(listener, f.secure())
	store, err := a.openOwn(ctx, f, url)
	if err != nil {
		return err
	}
	h := &house{a: a, log: logger, store: store}
	err = h.addJSON(f, listener, url)
	if err == nil {
		logger.Info("serving", "url", url, "version", readBuildInfo().Version, "pid", os.Getpid(),
			"tokens", f.tokenFile != "", "tls", f.secure())
	}
	if err == nil {
		err = h.open(ctx)
	}
	return errors.Join(err, h.close())
}

// openOwn opens the store that the server will own. The environment's store has
// no say: it is where clients go.
func (a *app) openOwn(ctx context.Context, f serveFlags, reach string) (leasehold.Store, error) {
	url := a.storeURL
	if strings.HasPrefix(open.Scheme(url), "http") {
		return nil, usagef("--store names a server; to serve, name a store, or none for the data directory")
	}
	if url == "" {
		if err := os.MkdirAll(f.data, 0o700); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
		url = open.SQLiteURL(filepath.Join(f.data, dataFile)) + "?durability=" + f.durability
	}
	return open.Store(ctx, url, &open.Options{Reach: reach})
}

// listen says what to do about an address that cannot be had.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; perhaps a server runs there already (leasehold health tells); --listen chooses another address, and port 0 a free one", err)
	}
	return nil, &exitError{exitUnavailable, err.Error()}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/internal/serve"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const serveHelp = `Serve leases until SIGTERM or Ctrl-C. When every API answers, the server prints
where each one is, one line per API.

Leases are kept in the data directory, durable before they are answered for. One
server can have it at a time. --store serves another store instead. Several
servers on one Redis, PostgreSQL, etcd or SurrealDB are one service. Blobs, and
the leases on them, are in the data directory all the same; on a store that
several servers share there are none, unless --data or a --blob flag asks for
them. --in-memory keeps everything in memory, for tests: nothing of it is left
afterwards.

Without a token file the server trusts every client that reaches it, and so listens only to
this machine. To listen elsewhere, give it --token-file, --tls-cert and --tls-key;
--insecure does without, on a network where everybody may hold and break leases.`

const serveExample = `  leasehold serve
  leasehold serve --listen 127.0.0.1:0 --data /var/lib/leasehold
  leasehold serve --blob-listen off
  leasehold serve --in-memory
  leasehold serve --store redis://localhost
  leasehold token new ci --role holder --token-file tokens > ci.secret
  leasehold serve --listen 0.0.0.0:8105 --token-file tokens --tls-cert cert.pem --tls-key key.pem`

// serveFlags are the server's options, and how to log.
type serveFlags struct {
	options             serve.Options
	logFormat, logLevel string
}

func newServe(a *app) *cobra.Command {
	f := serveFlags{options: serve.Defaults()}
	cmd := &cobra.Command{
		Use: "serve", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Serve leases over HTTP", Long: serveHelp, Example: serveExample,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o := f.options
		o.Store, o.Version = a.storeURL, readBuildInfo().Version // not the environment's store: it is where clients go
		o.Secret = os.Getenv(secretVariable)
		data := cmd.Flags().Changed("data") || cmd.Flags().Changed("durability")
		noBlobs := open.Shared(o.Store) && !data && !blobFlags(cmd)
		if noBlobs {
			o.BlobListen = serve.BlobOff // or two servers that start in one folder would want its data directory
		}
		switch {
		case o.InMemory && (data || o.Store != ""):
			return usagef("--in-memory needs no --data, --durability or --store")
		case o.Store != "" && data && o.BlobListen == serve.BlobOff:
			return usagef("--data and --durability are for the data directory; --store names another store")
		case cmd.Flags().Changed("rate") && o.Rate == 0:
			return usagef("--rate is 0, which would serve nobody; want a number of requests a second, or -1 for any")
		}
		log, err := f.newLog(a)
		if err != nil {
			return err
		}
		if noBlobs {
			log.Logger().Info("the Blob API is off", "why", "Blobs are not in the store but in a data directory, which one server can have. --data DIR or --blob-listen ADDRESS switches it on.")
		}
		return errors.Join(a.observeAndServe(cmd.Context(), o, log), log.Close())
	}
	return cmd
}

// blobFlags reports whether a flag speaks of blobs.
func blobFlags(cmd *cobra.Command) (found bool) {
	cmd.Flags().Visit(func(f *pflag.Flag) { found = found || strings.HasPrefix(f.Name, "blob-") })
	return found
}

func (f *serveFlags) add(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.StringVar(&o.Listen, "listen", o.Listen, "address of the JSON API; port 0 picks a free one")
	flags.StringVar(&o.Data, "data", o.Data, "data directory; made if it is missing")
	flags.StringVar(&o.Durability, "durability", o.Durability, "full survives power loss, normal only kill -9")
	flags.BoolVar(&o.InMemory, "in-memory", false, "keep everything in memory, and nothing afterwards")
	flags.Int64Var(&o.Reserve, "reserve", o.Reserve, "MiB of disk kept back, so that leases and deletes go on when the disk is full; 0 keeps none")
	flags.StringVar(&o.BlobListen, "blob-listen", "", "address of the Azure Blob API, or off (default "+serve.DefaultBlobListen+", or a free port if --listen has port 0; off on a store that several servers share)")
	flags.StringVar(&o.BlobAccounts, "blob-accounts", "", "file of storage accounts, one a line: name:key or name:key:key (default: the development account, or none with --token-file)")
	flags.Var(durationFlag{value: &o.BlobSnapshotTTL}, "blob-snapshot-ttl", "how long a new snapshot of a blob stays (default for ever)")
	flags.StringVar(&o.TokenFile, "token-file", "", "file of the tokens that callers must show; see leasehold token")
	flags.BoolVar(&o.TokenFileGroup, "token-file-group", false, "accept a token file that its group can read")
	flags.Float64Var(&o.Rate, "rate", 0, "requests a second that each token may make; -1 is any number (default 1000)")
	flags.StringArrayVar(&o.Hosts, "host", nil, "further Host name to answer to without tokens (repeatable)")
	flags.StringVar(&o.TLS.CertFile, "tls-cert", "", "certificate of the server, in PEM")
	flags.StringVar(&o.TLS.KeyFile, "tls-key", "", "its key")
	flags.StringVar(&o.TLS.ClientCAFile, "client-ca", "", "certificate authority of client certificates, which then stand for tokens")
	flags.BoolVar(&o.TLS.RequireClientCert, "require-client-cert", false, "turn clients without a certificate away")
	flags.BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine without tokens or TLS; --host names how clients reach it")
	flags.IntVar(&o.MaxConnections, "max-connections", o.MaxConnections, "how many connections are served at a time")
	flags.IntVar(&o.MaxWaiters, "max-waiters", o.MaxWaiters, "how many requests may wait in queues at a time")
	flags.StringVar(&o.Health.Name, "health-name", "", "resource that /health/leasing leases (default "+leasehold.HealthPrefix+":server)")
	flags.Var(durationFlag{value: &o.Health.TTL}, "health-ttl", "ttl of that lease (default 15s)")
	flags.Var(durationFlag{value: &o.Health.Timeout}, "health-timeout", "how long that may take (default 5s)")
	flags.StringVar(&f.logFormat, "log-format", "", "text or json, on standard error (default text on a terminal, else json)")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error; PUT /v1/log-level changes it at run time")
}

func (f *serveFlags) newLog(a *app) (*observe.Log, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, usagef("--log-level is %q; want debug, info, warn or error", f.logLevel)
	}
	switch f.logFormat {
	case "text", "json":
		return observe.NewLog(a.err, f.logFormat == "json", level), nil
	case "":
		return observe.NewLog(a.err, !isTerminal(a.err), level), nil
	}
	return nil, usagef("--log-format is %q; want text or json", f.logFormat)
}

// observeAndServe serves with the telemetry that the environment names.
func (a *app) observeAndServe(ctx context.Context, o serve.Options, log *observe.Log) error {
	program, err := observe.Start(ctx, observe.Options{Version: o.Version, Log: log, Page: true})
	if err != nil {
		return usagef("%v", err)
	}
	o.Observe, o.Logger, o.LogLevel = program, log.Logger(), log.Level
	return errors.Join(a.serve(ctx, o), program.Close())
}

// serve serves until a signal, or the end of ctx.
func (a *app) serve(ctx context.Context, o serve.Options) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	server, err := serve.Start(ctx, o)
	if err != nil {
		return adviseFile(err, "stop it first; --data gives another server a directory of its own", "")
	}
	if err := a.printAPIs(server.APIs()); err != nil {
		return errors.Join(err, server.Close())
	}
	return server.Wait(ctx)
}

// printAPIs writes all lines at once: a reader of the first can read the others.
func (a *app) printAPIs(all []serve.API) error {
	if a.json {
		urls := map[string]string{}
		for _, api := range all {
			urls[api.Key] = api.URL
			if api.ConnectionString != "" {
				urls[api.Key+"_connection_string"] = api.ConnectionString
			}
		}
		urls["console"] = all[0].URL + auth.ConsolePath
		return json.NewEncoder(a.out).Encode(urls) // one line, for programs that wait for it
	}
	var lines bytes.Buffer
	for _, api := range all {
		fmt.Fprintf(&lines, "%-9s %s\n", api.Name, api.URL)
		if api.ConnectionString != "" {
			fmt.Fprintf(&lines, "%-9s %s\n", "", api.ConnectionString)
		}
	}
	fmt.Fprintf(&lines, "%-9s %s\n", "Console", all[0].URL+auth.ConsolePath)
	_, err := a.out.Write(lines.Bytes())
	return err
}

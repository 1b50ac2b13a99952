package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/telemetry"
	"github.com/spf13/cobra"
)

const (
	defaultStore = "http://127.0.0.1:8105"

	// secretVariable has the password, key or connection string of a store.
	secretVariable = "LEASEHOLD_STORE_SECRET"

	// callTimeout bounds a call that does not wait.
	callTimeout = 20 * time.Second
)

// url returns the store's URL: the flag, the environment, or the default.
func (a *app) url() string {
	for _, u := range []string{a.storeURL, os.Getenv("LEASEHOLD_STORE")} {
		if u != "" {
			return u
		}
	}
	return defaultStore
}

func (a *app) storeIsServer() bool { return strings.HasPrefix(open.Scheme(a.url()), "http") }

// mayCreate are the commands that make a missing database file. The others must
// not: a mistyped name would look like an empty store.
var mayCreate = map[string]bool{
	"leasehold acquire": true, "leasehold run": true, "leasehold config set": true, "leasehold bench": true,
	"leasehold mcp": true,
}

// open opens the store for a command.
func (a *app) open(ctx context.Context, command string) (leasehold.Store, error) {
	s, err := a.openBare(ctx, command)
	if err != nil {
		return nil, err
	}
	return a.telemetry.Store(s, open.Kind(a.url())), nil
}

// openBare is open without telemetry around the store.
func (a *app) openBare(ctx context.Context, command string) (leasehold.Store, error) {
	token, err := a.authToken()
	if err != nil {
		return nil, err
	}
	return open.Store(ctx, a.url(), &open.Options{
		Token: token, Secret: os.Getenv(secretVariable), MustExist: !mayCreate[command], Trace: telemetry.TraceContext,
	})
}

// authToken returns the secret to show to a server, if any: the flag's file, then
// the environment's secret, then the environment's file. LEASEHOLD_TOKEN is none
// of them: it is the fencing token of a command under leasehold run.
func (a *app) authToken() (string, error) {
	file := a.tokenFile
	if file == "" {
		if s := os.Getenv("LEASEHOLD_AUTH_TOKEN"); s != "" {
			return strings.TrimSpace(s), nil
		}
		file = os.Getenv("LEASEHOLD_TOKEN_FILE")
	}
	if file == "" {
		return "", nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(content))
	if strings.ContainsAny(secret, "\n{") {
		return "", usagef("%s is no file with one secret; the server's token file keeps only hashes, so save what leasehold token new prints", file)
	}
	return secret, nil
}

// onStore makes a command of a body that needs the store. Ctrl-C ends the body's
// context, and is then the command's error.
func (a *app) onStore(body func(ctx context.Context, s leasehold.Store, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		store, err := a.open(ctx, cmd.CommandPath())
		if err != nil {
			return err
		}
		err = body(ctx, store, args)
		return interruptionOr(ctx, errors.Join(err, store.Close()))
	}
}

// onStoreBriefly is onStore for bodies that do not wait.
func (a *app) onStoreBriefly(body func(ctx context.Context, s leasehold.Store, args []string) error) func(*cobra.Command, []string) error {
	return a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return body(ctx, s, args)
	})
}

// power returns one of the store's optional powers, or ErrUnsupported.
func power[T any](s leasehold.Store, op string) (T, error) {
	p, ok := s.(T)
	if !ok {
		return p, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: op}
	}
	return p, nil
}

// callServer sends the server a request that is no lease operation. The caller
// closes the answer's body.
func (a *app) callServer(ctx context.Context, method, target string, header http.Header) (*http.Response, error) {
	token, err := a.authToken()
	if err != nil {
		return nil, err
	}
	address, config, err := open.ServerTLS(a.url(), nil)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(address, "/")+target, nil)
	if err != nil {
		return nil, usagef("the store URL cannot be read; want http://host:port")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "call", Store: "remote", Cause: err}
	}
	return answer, nil
}

const (
	completionLimit = 50
	completionTime  = time.Second
)

// completeResources is completeResource for commands that take several.
func (a *app) completeResources(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.completeResource(cmd, nil, prefix)
}

// completeResource offers the resources that are leased now, or nothing if the
// store does not answer soon.
func (a *app) completeResource(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	// Opening a database file would make it, or keep its server from it.
	if len(args) > 0 || !a.storeIsServer() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	store, err := a.open(ctx, cmd.CommandPath())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer store.Close()
	lister, ok := store.(leasehold.Lister)
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	page, _ := lister.List(ctx, leasehold.ListRequest{Prefix: prefix, Limit: completionLimit})
	var names []string
	for _, l := range page.Leases {
		names = append(names, l.Resource+"\theld by "+l.Holder)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

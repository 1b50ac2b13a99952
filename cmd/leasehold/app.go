package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
	"github.com/spf13/cobra"
)

const (
	defaultStore = "http://127.0.0.1:8105"

	// patience is how long a call that does not wait may take.
	patience = 20 * time.Second
)

// app is what all commands share.
type app struct {
	in  io.Reader
	out io.Writer // answers, and nothing else
	err io.Writer // progress, notes and errors

	storeURL  string
	tokenFile string
	json      bool
}

// url is the store that the user means.
func (a *app) url() string {
	for _, u := range []string{a.storeURL, os.Getenv("LEASEHOLD_STORE")} {
		if u != "" {
			return u
		}
	}
	return defaultStore
}

// beginners are the commands that may make a database file. What looks at a
// store, or changes what is in it, must not hide a mistyped name by making one.
var beginners = map[string]bool{
	"leasehold acquire": true, "leasehold run": true, "leasehold config set": true, "leasehold bench": true,
}

// open opens the store that the user means, for a command.
func (a *app) open(ctx context.Context, command string) (leasehold.Store, error) {
	secret, err := a.secret()
	if err != nil {
		return nil, err
	}
	return open.Store(ctx, a.url(), &open.Options{Token: secret, MustExist: !beginners[command]})
}

// secret is what to show to a server, if anything: the flag's file, then the
// environment's secret, then the environment's file. LEASEHOLD_TOKEN is not
// among them: there a child of leasehold run finds its fencing token.
func (a *app) secret() (string, error) {
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

// onStore makes a command of a body that needs the store. Ctrl-C ends the
// body's context, and is then the reason why the command failed.
func (a *app) onStore(body func(ctx context.Context, s leasehold.Store, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		store, err := a.open(ctx, cmd.CommandPath())
		if err != nil {
			return err
		}
		err = body(ctx, store, args)
		err = errors.Join(err, store.Close())
		if s := (*interruption)(nil); err != nil && errors.As(context.Cause(ctx), &s) {
			return s
		}
		return err
	}
}

// briefly is onStore for bodies that do not wait for anything.
func (a *app) briefly(body func(ctx context.Context, s leasehold.Store, args []string) error) func(*cobra.Command, []string) error {
	return a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
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

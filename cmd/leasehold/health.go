package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/spf13/cobra"
)

// healthLimit is for asking a server, whose own limit may be up to a minute.
const healthLimit = 65 * time.Second

func newHealth(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "health", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Check that leases can be had",
		Long: "Check that leases can be had: of a server by asking it, of a store by taking a\n" +
			"lease and releasing it. Exit code 0 if healthy or merely slow, 69 if not.",
		Example: "  leasehold health\n  leasehold health --store 'https://leases.example?ca=ca.pem' --json",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.storeIsServer() {
			return a.serverHealth(cmd.Context())
		}
		err := a.onStoreBriefly(a.storeHealth)(cmd, args)
		if errors.Is(err, sqlite.ErrMissing) {
			return &exitError{exitUnavailable, err.Error()} // no store is no healthy one
		}
		return err
	}
	return cmd
}

// serverHealth calls the server: only it may lease the names of health checks.
func (a *app) serverHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	answer, err := a.callServer(ctx, http.MethodGet, "/health/leasing", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		return &leasehold.Error{Reason: leasehold.ReasonUnauthenticated, Op: "health", Store: "remote"}
	}
	var h api.Health
	if err := json.NewDecoder(answer.Body).Decode(&h); err != nil || h.Status == "" {
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "health", Store: "remote",
			Cause: fmt.Errorf("something answered %s that is no Leasehold server", answer.Status)}
	}
	return a.printHealth(h)
}

func (a *app) storeHealth(ctx context.Context, s leasehold.Store, _ []string) error {
	return a.printHealth(api.HealthOf(health.Check(ctx, s, &health.Options{
		Name:   fmt.Sprintf("%s:cli:%d", leasehold.HealthPrefix, os.Getpid()),
		Holder: holderName("", os.Getppid()), Store: open.Kind(a.url()),
	})))
}

func (a *app) printHealth(h api.Health) error {
	var err error
	if a.json {
		err = a.printJSON(h)
	} else {
		line := fmt.Sprintf("%s, a lease took %d ms", h.Status, h.Duration)
		if h.Reason != "" {
			line += ": " + h.Reason
		}
		_, err = fmt.Fprintln(a.out, line)
	}
	if err != nil {
		return err
	}
	return exitIf(h.Status == health.Unhealthy, exitUnavailable)
}

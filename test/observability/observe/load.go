//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	registry "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/telemetry"
)

// serveLoad is a program that works under leases, some of which it waits for, with
// metrics at an address. Now and then a call fails, so that there is something to see.
func serveLoad(ctx context.Context, server, address string) error {
	pages := registry.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(pages), exporter.WithoutScopeInfo())
	if err != nil {
		return err
	}
	told, err := telemetry.New(&telemetry.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		return err
	}
	store, err := remote.Open(server, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	flaky := chaos.Wrap(store, &chaos.Options{Policy: chaos.First(
		chaos.Only(chaos.WithProbability(1, 0.001, chaos.Unavailable), chaos.OpAcquire),
		chaos.Only(chaos.WithProbability(2, 0.02, chaos.Unavailable), chaos.OpRenew),
	)})
	manager, err := told.NewManager(flaky, "remote", &leasehold.Options{TTL: 3 * time.Second, AcquireTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	defer manager.Close(context.WithoutCancel(ctx))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	page := &http.Server{Handler: promhttp.HandlerFor(pages, promhttp.HandlerOpts{EnableOpenMetrics: true}), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = page.Serve(listener) }()
	defer page.Close()
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() { work(ctx, manager) })
	}
	workers.Wait()
	return nil
}

// work does a little under a lease, again and again.
func work(ctx context.Context, manager *leasehold.Manager) {
	for ctx.Err() == nil {
		resource := fmt.Sprintf("job-%d", rand.IntN(6))
		err := manager.Do(ctx, resource, func(ctx context.Context, _ *leasehold.Held) error {
			sleep.For(ctx, time.Duration(rand.IntN(400))*time.Millisecond)
			return context.Cause(ctx)
		})
		if errors.Is(err, leasehold.ErrUnavailable) {
			sleep.For(ctx, 100*time.Millisecond) // the server may be starting
		}
	}
}

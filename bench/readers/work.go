package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// during calls work in a loop in each worker, and returns how long each call
// took. With a rate, all workers together start so many calls a second.
func (b *bench) during(each time.Duration, rate float64, work func(worker int) error) ([]time.Duration, time.Duration, error) {
	var (
		wg      sync.WaitGroup
		started atomic.Int64
		failure atomic.Pointer[error]
		took    = make([][]time.Duration, b.workers)
		start   = time.Now()
	)
	for w := range b.workers {
		wg.Go(func() {
			for failure.Load() == nil {
				if rate > 0 {
					time.Sleep(time.Until(start.Add(time.Duration(float64(started.Add(1)) / rate * float64(time.Second)))))
				}
				callStart := time.Now()
				if callStart.Sub(start) > each {
					return
				}
				if err := work(w); err != nil {
					failure.Store(&err)
				}
				took[w] = append(took[w], time.Since(callStart))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	if err := failure.Load(); err != nil {
		return nil, 0, *err
	}
	return slices.Concat(took...), elapsed, nil
}

// pairs returns how many leases a second are acquired and released, with one
// request for each operation.
func (b *bench) pairs(ctx context.Context) (float64, error) {
	took, elapsed, err := b.during(b.each, 0, func(worker int) error { return b.server.pair(ctx, worker) })
	return float64(len(took)) / elapsed.Seconds(), err
}

func (s *server) pair(ctx context.Context, worker int) error {
	data, err := s.request(ctx, http.MethodPost, "/v1/leases/acquire",
		fmt.Sprintf(`{"resource":"pairs:%d","holder":"worker:%d","ttl_seconds":60}`, worker, worker), nil, http.StatusCreated)
	if err != nil {
		return err
	}
	var lease struct {
		ID string `json:"lease_id"`
	}
	if err := json.Unmarshal(data, &lease); err != nil {
		return err
	}
	_, err = s.request(ctx, http.MethodPost, "/v1/leases/release", fmt.Sprintf(`{"lease_id":%q}`, lease.ID), nil, http.StatusOK)
	return err
}

// latency is how long blob reads took.
type latency struct {
	rate     float64 // a second
	p50, p99 time.Duration
}

// reads has the workers read blobs, at that rate or, if it is zero, as fast as
// they can.
func (b *bench) reads(ctx context.Context, each time.Duration, rate float64) (latency, error) {
	took, elapsed, err := b.during(each, rate, func(worker int) error {
		_, err := b.server.request(ctx, http.MethodGet, blobPath(worker), "", blobHeader, http.StatusOK)
		return err
	})
	if err != nil {
		return latency{}, err
	}
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(share*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return latency{float64(len(took)) / elapsed.Seconds(), at(0.5), at(0.99)}, nil
}

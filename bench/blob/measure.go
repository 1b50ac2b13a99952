package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// warmUp is worked and not counted, at the start of every round.
const warmUp = 300 * time.Millisecond

// sample is what one round found.
type sample struct {
	value float64
	// Of the machine's cores, how much the client and the server took. What
	// both of them take is the machine's limit, not the server's.
	clientCores, serverCores float64
}

// measureStarts times servers from the call that spawns them to their first
// answer, each in a directory of its own.
func (b *bench) measureStarts(ctx context.Context, r *report) error {
	l, err := b.alternate("start-up, ms", func(p *peer) (sample, error) {
		from := time.Now()
		if err := p.start(ctx, b.dir); err != nil {
			return sample{}, err
		}
		took := time.Since(from)
		p.stop()
		return sample{value: took.Seconds() * 1000}, nil
	})
	l.most = 1.0 / 10
	r.lines = append(r.lines, l)
	return err
}

func (b *bench) measureMemory(r *report) error {
	l := line{what: "resident memory after the work, MiB", most: 1.0 / 4}
	for _, p := range b.peers {
		bytes, err := residentMemory(p.cmd.Process.Pid)
		if err != nil {
			return err
		}
		l.medians = append(l.medians, sample{value: float64(bytes) / (1 << 20)})
	}
	r.lines = append(r.lines, l)
	return nil
}

func (b *bench) measureWork(ctx context.Context, w workload, r *report) error {
	l, err := b.alternate(w.what, func(p *peer) (sample, error) { return p.round(ctx, w, b.each) })
	l.least = w.least
	r.lines = append(r.lines, l)
	return err
}

// round has the workers work for a while and counts what they finish.
func (p *peer) round(ctx context.Context, w workload, each time.Duration) (sample, error) {
	operations, err := p.prepare(ctx, w)
	if err != nil {
		return sample{}, err
	}
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var wg sync.WaitGroup
	end := time.Now().Add(warmUp + each)
	for _, operate := range operations {
		wg.Go(func() {
			for time.Now().Before(end) && failure.Load() == nil {
				if err := operate(ctx); err != nil {
					failure.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	time.Sleep(warmUp)
	from, before, began := done.Load(), p.usage(), time.Now()
	wg.Wait()
	if err := failure.Load(); err != nil {
		return sample{}, *err
	}
	took, after := time.Since(began).Seconds(), p.usage()
	return sample{
		value:       float64(done.Load()-from) / took,
		clientCores: (after.client - before.client).Seconds() / took,
		serverCores: (after.server - before.server).Seconds() / took,
	}, nil
}

// prepare makes a blob for each worker, if it is not there yet.
func (p *peer) prepare(ctx context.Context, w workload) ([]func(context.Context) error, error) {
	container := p.service.NewContainerClient("bench")
	if _, err := container.Create(ctx, nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return nil, err
	}
	operations := make([]func(context.Context) error, w.workers)
	for i := range operations {
		blob := container.NewBlockBlobClient(fmt.Sprintf("worker/%d", i))
		if err := put(ctx, blob, make([]byte, small)); err != nil {
			return nil, err
		}
		var err error
		if operations[i], err = w.prepare(blob); err != nil {
			return nil, err
		}
	}
	return operations, nil
}

// usage is the processor time that both ends have taken so far.
type usage struct{ client, server time.Duration }

func (p *peer) usage() usage {
	return usage{client: processorTime(os.Getpid()), server: processorTime(p.cmd.Process.Pid)}
}

//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

const (
	people      = 1000
	fought      = 500 // blobs they fight for
	crowdTime   = 3 * time.Second
	crowdMemory = 128 << 20 // that the server may take for all of them
)

// TestCrowd lets a thousand clients, each with a connection of its own, take
// leases and write. Nobody is told anything but that another has the lease.
func TestCrowd(t *testing.T) { // alone: it measures
	s := serve(t)
	before := s.resident()
	c := newCrowd(s)
	var all []func(context.Context) error
	for range people {
		all = append(all, c.person(s))
	}
	begin := time.Now()
	if err := together(t.Context(), all); err != nil {
		t.Errorf("%.2000s", err.Error())
	}
	took := time.Since(begin)
	s.alive()
	now, peak := s.memory()
	t.Logf("%d connections for %v: %d leases taken, written with and released, %d refused; memory %s before, %s at most, %s after",
		c.dialled.Load(), took.Round(time.Millisecond), c.won.Load(), c.lost.Load(), mib(before), mib(peak), mib(now))
	if c.dialled.Load() < people || c.won.Load() < people/10 {
		t.Errorf("there were %d connections and %d leases; the test shows nothing", c.dialled.Load(), c.won.Load())
	}
	if peak-before > crowdMemory {
		t.Errorf("the server grew from %s to %s, want at most %s more", mib(before), mib(peak), mib(crowdMemory))
	}
	if _, err := c.client.NewBlockBlobClient(nameOf(0)).GetProperties(t.Context(), nil); err != nil {
		t.Errorf("GetProperties() after all = %v", err)
	}
	var answer struct{ Leases []leaseRow }
	if s.raw().send("GET", "/v1/leases?prefix=blob:", "").want(200, "").read(&answer); len(answer.Leases) != 0 {
		t.Errorf("%d leases are left when everybody has released", len(answer.Leases))
	}
}

type crowd struct {
	client             *container.Client // for what is asked once
	ready              sync.WaitGroup    // all goroutines have started
	dialled, won, lost atomic.Int64
}

func newCrowd(s *server) *crowd {
	s.Helper()
	c := &crowd{client: s.container("crowd")}
	s.load("crowd", fought)
	c.ready.Add(people)
	return c
}

// person is a client with a connection of its own: those of one transport would
// share connections that happen to be idle.
func (c *crowd) person(s *server) func(context.Context) error {
	transport := s.newTransport(1)
	dialer := &net.Dialer{Timeout: patience}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c.dialled.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
	client := s.sdk(transport).NewContainerClient("crowd")
	return func(ctx context.Context) error { return c.visit(ctx, client) }
}

func (c *crowd) visit(ctx context.Context, client *container.Client) error {
	c.ready.Done()
	c.ready.Wait()
	begin := time.Now()
	for time.Since(begin) < crowdTime || c.won.Load() < people/10 && time.Since(begin) < patience { // a busy machine takes longer
		if err := c.fight(ctx, client.NewBlockBlobClient(nameOf(rand.IntN(fought)))); err != nil {
			return err
		}
	}
	return nil
}

// fight takes the lease, writes and lets go, or hears that another has it.
func (c *crowd) fight(ctx context.Context, b *blockblob.Client) error {
	id := to.Ptr(newID())
	l, err := lease.NewBlobClient(b, &lease.BlobClientOptions{LeaseID: id})
	if err != nil {
		return err
	}
	if _, err := l.AcquireLease(ctx, 60, nil); bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
		c.lost.Add(1)
		return nil
	} else if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	o := &blockblob.UploadOptions{AccessConditions: show(*id)}
	if _, err := b.Upload(ctx, body(piece{size: 100}), o); err != nil {
		return fmt.Errorf("put by the holder: %w", err)
	}
	if _, err := l.ReleaseLease(ctx, nil); err != nil {
		return fmt.Errorf("release by the holder: %w", err)
	}
	c.won.Add(1)
	return nil
}

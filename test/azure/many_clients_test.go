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

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const (
	clientCount   = 1000
	blobCount     = 500 // whose leases they acquire
	clientsTime   = 3 * time.Second
	clientsMemory = 128 << 20 // that the server may grow by
)

// TestManyClients lets a thousand clients, each with a connection of its own,
// acquire leases and write. The only error is that another holds the lease.
func TestManyClients(t *testing.T) { // alone: it measures
	s := serve(t)
	before := s.resident()
	c := newManyClients(s)
	var all []func(context.Context) error
	for range clientCount {
		all = append(all, c.client(s))
	}
	start := time.Now()
	if err := parallel(t.Context(), all); err != nil {
		t.Errorf("%.2000s", err.Error())
	}
	took := time.Since(start)
	s.alive()
	now, peak := s.memory()
	t.Logf("%d connections for %v: %d leases acquired, written with and released, %d refused; memory %s before, %s at most, %s after",
		c.dialled.Load(), took.Round(time.Millisecond), c.granted.Load(), c.refused.Load(), mib(before), mib(peak), mib(now))
	if c.dialled.Load() < clientCount || c.granted.Load() < clientCount/10 {
		t.Errorf("there were %d connections and %d leases; the test shows nothing", c.dialled.Load(), c.granted.Load())
	}
	if peak-before > clientsMemory {
		t.Errorf("the server grew from %s to %s, want at most %s more", mib(before), mib(peak), mib(clientsMemory))
	}
	if _, err := c.container.NewBlockBlobClient(nameOf(0)).GetProperties(t.Context(), nil); err != nil {
		t.Errorf("GetProperties() after all = %v", err)
	}
	var answer struct{ Leases []leaseRow }
	if s.raw().send("GET", "/v1/leases?prefix=blob:", "").want(200, "").decode(&answer); len(answer.Leases) != 0 {
		t.Errorf("%d leases are left when all clients have released", len(answer.Leases))
	}
}

type manyClients struct {
	container                 *container.Client // for single requests
	ready                     sync.WaitGroup    // all goroutines have started
	dialled, granted, refused atomic.Int64
}

func newManyClients(s *server) *manyClients {
	s.Helper()
	c := &manyClients{container: s.container("leased")}
	s.load("leased", blobCount)
	c.ready.Add(clientCount)
	return c
}

// client has a transport of its own: clients of one transport would share idle
// connections.
func (c *manyClients) client(s *server) func(context.Context) error {
	transport := s.newTransport(1)
	dialer := &net.Dialer{Timeout: patience}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c.dialled.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
	client := s.sdk(transport).NewContainerClient("leased")
	return func(ctx context.Context) error { return c.work(ctx, client) }
}

func (c *manyClients) work(ctx context.Context, client *container.Client) error {
	c.ready.Done()
	c.ready.Wait()
	start := time.Now()
	for time.Since(start) < clientsTime || c.granted.Load() < clientCount/10 && time.Since(start) < patience { // on a busy machine
		if err := c.useLease(ctx, client.NewBlockBlobClient(nameOf(rand.IntN(blobCount)))); err != nil {
			return err
		}
	}
	return nil
}

// useLease acquires the lease, writes and releases, or is refused because another
// client holds it.
func (c *manyClients) useLease(ctx context.Context, b *blockblob.Client) error {
	id := newID()
	l := newBlobLease(b, id)
	if err := l.acquire(ctx, 60); bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
		c.refused.Add(1)
		return nil
	} else if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	o := &blockblob.UploadOptions{AccessConditions: leaseCondition(id)}
	if _, err := b.Upload(ctx, body(piece{size: 100}), o); err != nil {
		return fmt.Errorf("put by the holder: %w", err)
	}
	if err := l.release(ctx); err != nil {
		return fmt.Errorf("release by the holder: %w", err)
	}
	c.granted.Add(1)
	return nil
}

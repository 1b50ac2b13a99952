//go:build unix

package azuretest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/soak"
)

var crashes = soak.Rounds(10, 50)

const lifespan = 400 * time.Millisecond // of a server, at most

// TestCrash kills a server under load, again and again on the same data. After
// each start the server must have what it acknowledged, with or without the one
// operation that each client had under way. At the end no file on the disk may
// be without an owner. The package comment explains the model.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := newCrash(s)
	var downtime time.Duration
	round := 0
	for ; round < crashes || round < 5*crashes && soak.Long() && c.incomplete(); round++ {
		if round%10 == 9 {
			s.killEarly()
		}
		s.start()
		downtime += s.launch
		c.connect()
		if err := c.check(); err != nil {
			t.Fatalf("after crash %d: %v", round, err)
		}
		if err := c.work(time.Duration(rand.Int64N(int64(lifespan)))); err != nil {
			t.Fatalf("before crash %d: %v", round+1, err)
		}
	}
	t.Logf("%d crashes, a start in %v", round, (downtime / time.Duration(round)).Round(time.Millisecond))
	c.report("the Azure Blob API", c.azureClients)
	c.report("the plain API", c.plainClients)
	c.finish()
}

// crash is a server and its clients.
type crash struct {
	*server
	azureClients []crashClient // of the Azure Blob API
	plainClients []crashClient // of the plain API
	opened       bool
}

// newCrash has drivers of every kind at both endpoints. Contention is tried at
// the Azure Blob API only: who is granted a lease does not depend on the codes.
func newCrash(s *server) *crash {
	return &crash{
		server: s,
		azureClients: []crashClient{
			newBlockDriver("block-0"), newBlockDriver("block-1"), newBlockDriver("block-2"), newAppendDriver("append-0"), newPageDriver("page-0"),
			newTagDriver("tag-0"), newContainerDriver("container-0"), newBlobContention("contention-blob"), newContainerContention("contention-container"),
		},
		plainClients: []crashClient{
			newBlockDriver("block-3"), newAppendDriver("append-1"), newPageDriver("page-1"), newTagDriver("tag-1"), newContainerDriver("container-1"),
		},
	}
}

func (c *crash) clients() []crashClient { return slices.Concat(c.azureClients, c.plainClients) }

// connect connects all clients to the server that runs now. The first time they
// create what they need.
func (c *crash) connect() {
	c.Helper()
	transport := c.newTransport(2 * len(c.clients()))
	azure, plain := endpoint{c.sdk(transport), azureCodes}, endpoint{c.plainSDK(transport), plainCodes}
	for _, client := range c.azureClients {
		client.connect(azure)
	}
	for _, client := range c.plainClients {
		client.connect(plain)
	}
	if c.opened {
		return
	}
	c.opened = true
	if err := forEachClient(c.Context(), c.clients(), crashClient.open); err != nil {
		c.Fatalf("open: %v", err)
	}
}

// work lets all clients work until the server is killed.
func (c *crash) work(life time.Duration) error {
	stop := time.AfterFunc(life, func() { _ = c.cmd.Process.Kill() }) // SIGKILL
	defer stop.Stop()
	err := forEachClient(c.Context(), c.clients(), crashClient.work)
	<-c.ended
	for _, client := range c.clients() {
		client.counts().countCrash()
	}
	return err
}

// killEarly kills the server while it starts.
func (s *server) killEarly() {
	s.Helper()
	s.spawn()
	time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // another process: any moment of its start
	s.kill()
}

func (c *crash) check() error { return forEachClient(c.Context(), c.clients(), crashClient.check) }

// incomplete reports whether an operation was never acknowledged so far, at
// either endpoint.
func (c *crash) incomplete() bool {
	for _, sum := range slices.Concat(sumByKind(c.azureClients), sumByKind(c.plainClients)) {
		if len(sum.missing()) > 0 {
			return true
		}
	}
	return false
}

// report is for one endpoint: what was acknowledged at one shows nothing about
// the other.
func (c *crash) report(endpoint string, clients []crashClient) {
	for _, sum := range sumByKind(clients) {
		c.Logf("%s, %v", endpoint, sum)
		if never := sum.missing(); len(never) > 0 && soak.Long() { // a quick run cannot do everything
			c.Errorf("%s, %s: %q were never acknowledged: the test shows nothing about them", endpoint, sum.kind, never)
		}
	}
}

// finish checks the data of the killed server, and that no file is left when
// everything is deleted.
func (c *crash) finish() {
	c.Helper()
	code, report := c.fsck()
	c.Logf("fsck of the killed server = %d: %s", code, report)
	c.wantSound()
	files, size := c.files("blobs")
	c.Logf("%d files with %s in the end", files, mib(size))
	c.start()
	c.connect()
	if err := c.check(); err != nil {
		c.Errorf("after the repair: %v", err)
	}
	if err := forEachClient(c.Context(), c.clients(), crashClient.close); err != nil {
		c.Errorf("close: %v", err)
	}
	c.kill()
	c.wantSound()
	if files, size := c.files("blobs"); files != 0 {
		c.Errorf("%d files with %s are left when all blobs are deleted", files, mib(size))
	}
}

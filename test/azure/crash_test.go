//go:build unix

package azuretest

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/leasehold/leasehold/internal/soak"
)

var crashes = soak.Rounds(10, 50)

const (
	rivals   = 2                      // for each prize
	lifespan = 400 * time.Millisecond // at most
)

// TestCrash kills a server that is hard at work, again and again on the same
// data, and checks each time that it has exactly what was acknowledged, give or
// take the one operation that each worker had begun. In the end there must be
// nothing on the disk that nobody knows.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := newCrash(s)
	var downtime time.Duration
	round := 0
	for ; round < crashes || round < 5*crashes && soak.Long() && c.untried(); round++ {
		if round%10 == 9 {
			s.dieYoung()
		}
		s.start()
		downtime += s.launch
		c.reconnect()
		if err := c.check(); err != nil {
			t.Fatalf("after crash %d: %v", round, err)
		}
		if err := c.work(time.Duration(rand.Int64N(int64(lifespan)))); err != nil {
			t.Fatalf("before crash %d: %v", round+1, err)
		}
	}
	t.Logf("%d crashes, a start in %v", round, (downtime / time.Duration(round)).Round(time.Millisecond))
	c.report()
	c.finish()
}

// untried reports whether an operation was never acknowledged so far.
func (c *crash) untried() bool {
	for _, l := range slices.Concat(byKind(c.signers), byKind(c.openers)) {
		if len(l.idle()) > 0 {
			return true
		}
	}
	return false
}

// dieYoung starts the server and kills it before it has started.
func (s *server) dieYoung() {
	s.Helper()
	s.begin()
	time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // somewhere on its way
	s.kill()
}

// crash is the server and all who use it.
type crash struct {
	*server
	signers []party // at the Azure Blob door
	openers []party // at the main port, under /blob/
	opened  bool
}

// newCrash has parties of every kind at both faces, but the contests at Azure's
// only: who may win does not depend on the words.
func newCrash(s *server) *crash {
	return &crash{
		server: s,
		signers: []party{
			newWorker("worker-0"), newWorker("worker-1"), newWorker("worker-2"), newScribe("scribe-0"), newPrinter("printer-0"),
			newLabeller("labeller-0"), newKeeper("keeper-0"), newBlobContest("contest"), newBoxContest("contest-box"),
		},
		openers: []party{newWorker("worker-3"), newScribe("scribe-1"), newPrinter("printer-1"), newLabeller("labeller-1"), newKeeper("keeper-1")},
	}
}

func (c *crash) parties() []party { return slices.Concat(c.signers, c.openers) }

// reconnect points everybody at the server that runs now. The first time they
// make what they need.
func (c *crash) reconnect() {
	c.Helper()
	transport := c.newTransport(2 * len(c.parties()))
	signed, dialect := face{c.sdk(transport), azureWords}, face{c.dialect(transport), dialectWords}
	for _, p := range c.signers {
		p.connect(signed)
	}
	for _, p := range c.openers {
		p.connect(dialect)
	}
	if c.opened {
		return
	}
	c.opened = true
	if err := everybody(c.Context(), c.parties(), party.open); err != nil {
		c.Fatalf("open: %v", err)
	}
}

// dialect is Azure's client of the paths under /blob/ on the main port, where
// nobody signs.
func (s *server) dialect(transport http.RoundTripper) *service.Client {
	s.Helper()
	o := &service.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: &http.Client{Transport: transport, Timeout: 2 * time.Minute},
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
	client, err := service.NewClientWithNoCredential(s.doors.API+"/blob/"+account+"/", o)
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// work lets everybody work until the server is killed.
func (c *crash) work(life time.Duration) error {
	stop := time.AfterFunc(life, func() { _ = c.cmd.Process.Kill() }) // SIGKILL
	defer stop.Stop()
	err := everybody(c.Context(), c.parties(), party.work)
	<-c.ended
	for _, p := range c.parties() {
		p.book().died()
	}
	return err
}

func (c *crash) check() error { return everybody(c.Context(), c.parties(), party.check) }

func (c *crash) report() {
	c.reportOf("the Azure Blob door", c.signers)
	c.reportOf("the main port", c.openers)
}

// reportOf is for each face by itself: what was done at one shows nothing about
// the other.
func (c *crash) reportOf(face string, parties []party) {
	for _, l := range byKind(parties) {
		c.Logf("%s, %v", face, l)
		if never := l.idle(); len(never) > 0 && soak.Long() { // a quick run cannot do everything
			c.Errorf("%s, %s: %q were never acknowledged: the test shows nothing about them", face, l.kind, never)
		}
	}
}

// finish checks the data of the dead server, and that deleting everything leaves
// nothing behind.
func (c *crash) finish() {
	c.Helper()
	code, report := c.fsck()
	c.Logf("fsck of the dead server = %d: %s", code, report)
	c.wantSound()
	files, size := c.files("blobs")
	c.Logf("%d files with %s in the end", files, mib(size))
	c.start()
	c.reconnect()
	if err := c.check(); err != nil {
		c.Errorf("after the repair: %v", err)
	}
	if err := everybody(c.Context(), c.parties(), party.close); err != nil {
		c.Errorf("close: %v", err)
	}
	c.kill()
	c.wantSound()
	if files, size := c.files("blobs"); files != 0 {
		c.Errorf("%d files with %s are left when all blobs are deleted", files, mib(size))
	}
}

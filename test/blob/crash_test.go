//go:build unix

package blobtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

const (
	crashes  = 50
	signers  = 3 // workers at the Azure Blob door
	openers  = 1 // workers at the main port, under /blob/
	rivals   = 2
	lifespan = 250 * time.Millisecond // at most
)

// errTwo is the one thing that must never happen.
var errTwo = errors.New("two holders at a time")

// unlessGone forgets errors that only say that nobody answers any more.
func unlessGone(err error) error {
	if statusOf(err) == 0 && !errors.Is(err, errTwo) {
		return nil
	}
	return err
}

// TestCrash kills a server that is hard at work, again and again on the same
// data, and checks each time that it has exactly what was acknowledged, give or
// take the one operation that each worker had begun. In the end there must be
// nothing on the disk that nobody knows.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := newCrash(s)
	var downtime time.Duration
	for round := range crashes {
		if round%10 == 9 {
			s.dieYoung()
		}
		s.start()
		downtime += s.launch
		c.reconnect()
		if err := c.check(); err != nil {
			t.Fatalf("after crash %d of %d: %v", round, crashes, err)
		}
		if err := c.work(time.Duration(rand.Int64N(int64(lifespan)))); err != nil {
			t.Fatalf("before crash %d of %d: %v", round+1, crashes, err)
		}
	}
	c.report(downtime / crashes)
	c.finish()
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
	workers []*worker
	contest contest

	interrupted map[string]int // what was under way at a death
}

func newCrash(s *server) *crash {
	c := &crash{server: s, interrupted: map[string]int{}}
	for i := range signers + openers {
		c.workers = append(c.workers, newWorker(fmt.Sprint("worker-", i)))
	}
	return c
}

// reconnect points everybody at the server that runs now. The first time it
// makes what they need.
func (c *crash) reconnect() {
	c.Helper()
	transport := c.newTransport(signers + openers + rivals)
	signed := c.sdk(transport)
	first := c.contest.client == nil
	for i, w := range c.workers {
		client := signed
		if i >= signers {
			client = c.dialect(transport)
		}
		w.client = client.NewContainerClient(w.name)
		if !first {
			continue
		}
		if _, err := w.client.Create(c.Context(), nil); err != nil {
			c.Fatalf("Create(%q) = %v", w.name, err)
		}
	}
	shared := signed.NewContainerClient("contest")
	c.contest.client = shared.NewBlockBlobClient("shared")
	if !first {
		return
	}
	if _, err := shared.Create(c.Context(), nil); err != nil {
		c.Fatalf("Create(contest) = %v", err)
	}
	if _, err := c.contest.client.Upload(c.Context(), bytesBody(nil), nil); err != nil {
		c.Fatalf("Upload(contest/shared) = %v", err)
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
	var all []func(context.Context) error
	for _, w := range c.workers {
		all = append(all, w.work)
	}
	for range rivals {
		all = append(all, c.contest.compete)
	}
	err := together(c.Context(), all)
	<-c.ended
	for _, w := range c.workers {
		if w.doing != "" {
			c.interrupted[w.doing]++
		}
	}
	return err
}

func (c *crash) check() error {
	all := []func(context.Context) error{c.contest.check}
	for _, w := range c.workers {
		all = append(all, w.check)
	}
	return together(c.Context(), all)
}

// together runs them all and returns what went wrong.
func together(ctx context.Context, all []func(context.Context) error) error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, f := range all {
		wait.Go(func() { errs[i] = f(ctx) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (c *crash) report(start time.Duration) {
	done, cut := map[string]int{}, 0
	for _, w := range c.workers {
		for what, n := range w.acks {
			done[what] += n
		}
	}
	for _, n := range c.interrupted {
		cut += n
	}
	c.Logf("%d crashes, a start in %v; acknowledged: %s; the contest was won %d times; cut off: %d (%s)",
		crashes, start.Round(time.Millisecond), tally(done), c.contest.wins.Load(), cut, tally(c.interrupted))
	for _, d := range deeds {
		if done[d.name] == 0 {
			c.Errorf("%q was never acknowledged: the test shows nothing about it", d.name)
		}
	}
}

func tally(counts map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(all, ", ")
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
	c.deleteAll()
	c.kill()
	c.wantSound()
	if files, size := c.files("blobs"); files != 0 {
		c.Errorf("%d files with %s are left when all blobs are deleted", files, mib(size))
	}
}

func (c *crash) deleteAll() {
	c.Helper()
	client := c.sdk(c.newTransport(1))
	for _, name := range append([]string{"contest"}, c.names()...) {
		if _, err := client.DeleteContainer(c.Context(), name, nil); err != nil {
			c.Errorf("DeleteContainer(%q) = %v", name, err)
		}
	}
}

func (c *crash) names() (names []string) {
	for _, w := range c.workers {
		names = append(names, w.name)
	}
	return names
}

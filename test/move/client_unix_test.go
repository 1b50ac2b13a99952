//go:build unix

package move_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

// clientEnv has the URLs of the two stores, for this test binary as a client.
const clientEnv = "LEASEHOLD_TEST_MOVE_CLIENT"

// ttl is short, so that leases end while they are moved.
const ttl = 2 * time.Second

// resources are few, so that clients compete.
const resources = 6

// event is what a client did, with the times before and after. Lost is a lease that a
// store no longer knew though it had promised it for longer.
type event struct {
	Client   string
	Op       string // grant, renew, release, lost; with a ? if the outcome is unknown
	Resource string
	Token    uint64
	Store    int
	Sent     time.Time
	Got      time.Time
}

func TestMain(m *testing.M) {
	if args := os.Getenv(clientEnv); args != "" {
		if err := runClient(args); err != nil {
			fmt.Fprintln(os.Stderr, "client:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// startClient starts a process that uses both stores until stop, which returns all
// that it did.
func startClient(t *testing.T, name string, urls [2]string) (stop func() []event) {
	t.Helper()
	args, err := json.Marshal(append(urls[:], name))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientEnv+"="+string(args), "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan []event, 1)
	go func() {
		var events []event
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				events = append(events, e)
			}
		}
		done <- events
	}()
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = cmd.Process.Kill()
			<-done
			_ = cmd.Wait()
		}
	})
	return func() []event {
		t.Helper()
		stopped = true
		in.Close()
		events := <-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("client %s: %v", name, err)
		}
		return events
	}
}

// client is one process that uses both stores and does not know which of them has the
// leases.
type client struct {
	name   string
	stores [2]leasehold.Store
	held   map[string]holding
	out    *json.Encoder
}

type holding struct {
	id    leasehold.ID
	token uint64
	until time.Time // by the last answer, at least
}

func runClient(encoded string) error {
	var args []string
	if err := json.Unmarshal([]byte(encoded), &args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	c := &client{name: args[2], held: map[string]holding{}, out: json.NewEncoder(out)}
	for i := range c.stores {
		s, err := open.Store(ctx, args[i], nil)
		if err != nil {
			return err
		}
		defer s.Close()
		c.stores[i] = s
	}
	for ctx.Err() == nil {
		if err := c.step(); err != nil {
			return err
		}
	}
	return nil
}

// step does one operation on one of the stores.
func (c *client) step() error {
	resource := fmt.Sprintf("busy-%d", rand.IntN(resources))
	h, held := c.held[resource]
	e := event{Client: c.name, Resource: resource, Token: h.token, Store: rand.IntN(2), Sent: time.Now()}
	var err error
	switch {
	case !held:
		err = c.acquire(&e)
	case rand.IntN(4) == 0:
		err = c.release(&e, h)
	default:
		err = c.renew(&e, h)
	}
	e.Got = time.Now()
	switch {
	case err == nil:
		return c.out.Encode(e)
	case errors.Is(err, leasehold.ErrUnknown):
		e.Op += "?"
		return c.out.Encode(e)
	case errors.Is(err, leasehold.ErrUnavailable), errors.Is(err, leasehold.ErrHeld):
		time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
		return nil
	case errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrNotFound):
		delete(c.held, resource)
		if e.Got.Before(h.until) {
			e.Op = "lost"
			return c.out.Encode(e)
		}
		return nil
	}
	return err
}

// Operations have no end of their own: an outcome that is unknown shows less.

func (c *client) acquire(e *event) error {
	e.Op = "grant"
	r := leasehold.AcquireRequest{Resource: e.Resource, Holder: c.name, TTL: ttl}
	g, err := c.stores[e.Store].Acquire(context.Background(), r)
	if err == nil {
		e.Token = g.Token
		c.held[e.Resource] = holding{id: g.ID, token: g.Token, until: e.Sent.Add(ttl)}
	}
	return err
}

func (c *client) renew(e *event, h holding) error {
	e.Op = "renew"
	_, err := c.stores[e.Store].Renew(context.Background(), leasehold.RenewRequest{Resource: e.Resource, ID: h.id})
	if err == nil {
		h.until = e.Sent.Add(ttl)
		c.held[e.Resource] = h
	}
	return err
}

func (c *client) release(e *event, h holding) error {
	e.Op = "release"
	_, err := c.stores[e.Store].Release(context.Background(), leasehold.ReleaseRequest{Resource: e.Resource, ID: h.id})
	if err == nil || errors.Is(err, leasehold.ErrUnknown) {
		delete(c.held, e.Resource)
	}
	return err
}

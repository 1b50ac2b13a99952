package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
	"github.com/redis/go-redis/v9"
)

// faultyClient has short timeouts, so that a swallowed answer does not take long.
func faultyClient(t testing.TB, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Addr: addr, PoolSize: 32, ReadTimeout: 300 * time.Millisecond, DialTimeout: time.Second,
		DialerRetries: 1, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestLinearizable breaks connections and the server while 16 workers acquire,
// renew, transfer, break and release; the server writes every command to its disk
// before it answers.
func TestLinearizable(t *testing.T) {
	server := testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	network := testserver.Proxy(t, server.Addr)
	storetest.HammerWithFaults(t, storetest.FaultLoad{
		Rounds: soak.Rounds(6, 30),
		Calls:  60,
		Open: func(round int) leasehold.Store {
			o := &Options{KeyPrefix: fmt.Sprintf("round%d:", round), NoHistory: round%2 == 1}
			return openOn(t, faultyClient(t, network.Addr), o)
		},
		Disturb: func(ctx context.Context, round int) int {
			return network.Disturb(ctx, uint64(round), 50*time.Millisecond, 100*time.Millisecond, server.Restart)
		},
	})
}

// TestCheckerCatchesBrokenScripts breaks a script on purpose: the checker must see
// it.
func TestCheckerCatchesBrokenScripts(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	for _, flaw := range []struct{ name, good, bad string }{
		{"a held lease does not block", "if row then\n  if ARGV[11]", "if row and now % 3 == 0 then\n  if ARGV[11]"},
		{"tokens repeat", "local next = micros", "local next = '7'"},
		{"a release is forgotten", "local before, ends = ", "if true then return answer('', row) end\nlocal before, ends = "},
		{"a release does not compare the id", "elseif row[1] ~= id then", "elseif false then"},
	} {
		t.Run(flaw.name, func(t *testing.T) {
			if !strings.Contains(acquireScript.recording().source+releaseScript.recording().source, flaw.good) {
				t.Fatalf("no script has %q", flaw.good)
			}
			caught := false
			for seed := range uint64(10) {
				s := openOn(t, broken{UniversalClient: client, good: flaw.good, bad: flaw.bad}, &Options{KeyPrefix: fmt.Sprintf("%s%d:", flaw.name, seed)})
				if rec := storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 8, Calls: 40, Seed: seed}); rec.Check() != nil {
					caught = true
					break
				}
			}
			if !caught {
				t.Error("the checker finds nothing wrong")
			}
		})
	}
}

// broken runs other scripts than those it is given.
type broken struct {
	redis.UniversalClient
	good, bad string
}

func (b broken) Process(ctx context.Context, c redis.Cmder) error {
	args := c.Args()
	if args[0] == "evalsha" {
		c.SetErr(noScript{})
		return c.Err()
	}
	args[1] = strings.ReplaceAll(args[1].(string), b.good, b.bad) // only some scripts have it
	return b.UniversalClient.Process(ctx, c)
}

type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT by test" }
func (noScript) RedisError()   {}

// TestLostAnswers loses answers after the script ran: the store looks whether it
// happened, and says so if it can.
func TestLostAnswers(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	g := acquire(t, s, "r", "h", time.Minute)
	// The look is lost as well, so the outcome stays unknown.
	s.client = &losing{UniversalClient: client, always: true}
	_, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Fatalf("Release with lost answers = %v, want ErrUnknown", err)
	}
	s.client = client
	if status, err := s.Status(t.Context(), "r"); err != nil || status.Locked() {
		t.Errorf("Status = %+v, %v; want it free: it had happened", status, err)
	}
	// Only one answer is lost: the look shows what happened.
	for i, op := range []func() error{
		func() (err error) {
			g, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "h", TTL: time.Minute, Metadata: map[string]string{"k": "v"}})
			return err
		},
		func() error {
			_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "s"})
			return err
		},
		func() error {
			l, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "s"})
			if err == nil && (l.State != leasehold.StateReleased || l.Token != g.Token || l.Metadata["k"] != "v") {
				err = fmt.Errorf("it is %+v", l)
			}
			return err
		},
	} {
		s.client = &losing{UniversalClient: client}
		if err := op(); err != nil {
			t.Errorf("operation %d with a lost answer = %v, want what happened", i, err)
		}
	}
}

// losing loses the answer of the first script, or of all, after it ran.
type losing struct {
	redis.UniversalClient
	once   sync.Once
	always bool
	most   int32 // of those it loses always; zero: all
	lost   atomic.Int32
}

func (l *losing) Process(ctx context.Context, c redis.Cmder) error {
	err := l.UniversalClient.Process(ctx, c)
	if strings.HasPrefix(fmt.Sprint(c.Err()), "NOSCRIPT") {
		return err
	}
	lose := func() { c.SetErr(context.DeadlineExceeded) }
	l.once.Do(lose)
	if n := l.lost.Add(1); l.always && (l.most == 0 || n <= l.most) {
		lose()
	}
	return c.Err()
}

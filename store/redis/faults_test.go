package redis

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
	"github.com/redis/go-redis/v9"
)

// operations are all of a store, on a lease that it holds.
func operations(ctx context.Context, s *Store, g leasehold.Lease) map[string]error {
	errs := map[string]error{}
	_, errs["Acquire"] = s.Acquire(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "h", TTL: time.Minute, ID: leasehold.NewID()})
	_, errs["Wait"] = s.Wait(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "h", TTL: time.Minute, Timeout: time.Second})
	_, errs["Renew"] = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: g.Resource})
	_, errs["Renew for longer"] = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: g.Resource, TTL: time.Hour})
	_, errs["Renew by id"] = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID})
	_, errs["Change"] = s.Change(ctx, leasehold.ChangeRequest{ID: g.ID, Resource: g.Resource, Proposed: leasehold.NewID()})
	_, errs["Change by id"] = s.Change(ctx, leasehold.ChangeRequest{ID: g.ID, Proposed: leasehold.NewID()})
	_, errs["Transfer"] = s.Transfer(ctx, leasehold.TransferRequest{ID: g.ID, Resource: g.Resource, To: "i"})
	_, errs["Transfer by id"] = s.Transfer(ctx, leasehold.TransferRequest{ID: g.ID, To: "i"})
	_, errs["Break"] = s.Break(ctx, leasehold.BreakRequest{Resource: g.Resource})
	_, errs["Status"] = s.Status(ctx, g.Resource)
	_, errs["Find"] = s.Find(ctx, g.ID)
	_, errs["List"] = s.List(ctx, leasehold.ListRequest{})
	_, errs["List of one"] = s.List(ctx, leasehold.ListRequest{Resource: g.Resource})
	_, errs["Cleanup"] = s.Cleanup(ctx)
	_, errs["Settings"] = s.Settings(ctx)
	_, errs["SetSetting"] = s.SetSetting(ctx, leasehold.SettingBlocking, true)
	_, errs["Release"] = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
	_, errs["Release by id"] = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID})
	if s.recording {
		_, errs["History"] = s.History(ctx, leasehold.HistoryRequest{})
	}
	return errs
}

// A dead server is ErrUnavailable everywhere: nothing was sent.
func TestServerIsGone(t *testing.T) {
	server := testserver.Redis(t)
	s := openOn(t, faultyClient(t, server.Addr), nil)
	g := acquire(t, s, "r", "h", time.Minute)
	server.Kill()
	process.Eventually(t, "the connections are known to be dead", func() bool {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		return errors.Is(err, leasehold.ErrUnavailable)
	})
	for op, err := range operations(t.Context(), s, g.Lease) {
		started := time.Now()
		unavailable(t, op, started, err)
	}
	if _, _, err := s.recordEnds(t.Context(), true); err == nil {
		t.Error("the sweep = success, want an error")
	}
	if _, err := s.tidy(t.Context()); err == nil {
		t.Error("tidying = success, want an error")
	}
	s.waitFailed(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"}, "timeout", time.Second)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller had left"))
	for op, err := range operations(ctx, s, g.Lease) {
		if !strings.Contains(err.Error(), "the caller had left") {
			t.Errorf("%s with an ended context = %v, want its cause", op, err)
		}
	}
}

// The same for a Cluster without nodes.
func TestClusterIsGone(t *testing.T) {
	addrs, servers := startNodes(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, DisableIdentity: true, DialTimeout: time.Second, DialerRetries: 1, MaxRedirects: 1,
	})
	t.Cleanup(func() { _ = client.Close() })
	s := openOn(t, client, nil)
	g := acquire(t, s, "r", "h", time.Minute)
	for _, server := range servers {
		server.Kill()
	}
	for op, err := range operations(t.Context(), s, g.Lease) {
		if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
			t.Errorf("%s = %v, want ErrUnavailable or ErrUnknown", op, err)
		}
	}
	s.noteEnd(t.Context(), "r", "1", "c")
	s.shorten(t.Context(), g.ID, time.Hour)
	s.updateIndex(t.Context(), settleScript, []string{"x"}, "mark")
}

// failing refuses the nth script from now on.
type failing struct {
	redis.UniversalClient
	left int
}

func (f *failing) Process(ctx context.Context, c redis.Cmder) error {
	if f.left--; f.left < 0 {
		c.SetErr(notSent{errors.New("by the test")})
		return c.Err()
	}
	return f.UniversalClient.Process(ctx, c)
}

// On a Cluster an operation has several steps. Whichever fails, nothing is granted
// that the caller does not know of, and the next one succeeds.
func TestClusterStepsFail(t *testing.T) {
	client := newClusterClient(t, startCluster(t))
	s := openOn(t, client, nil)
	g := acquire(t, s, "warm", "h", time.Minute) // now every node may know the scripts
	release(t, s, g.Lease)
	for n := range 8 {
		s.client = &failing{client, n}
		r := leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: leasehold.NewID(), TTL: time.Minute}
		_, err := s.Acquire(t.Context(), r)
		s.client = client
		if err != nil && !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Acquire with a failure at step %d = %v, want ErrUnavailable", n, err)
		}
		got, again := s.Acquire(t.Context(), r)
		if again != nil {
			t.Fatalf("Acquire after a failure at step %d = %v, want a grant", n, again)
		}
		next := leasehold.NewID()
		s.client = &failing{client, n}
		_, err = s.Change(t.Context(), leasehold.ChangeRequest{ID: got.ID, Resource: "r", Proposed: next})
		s.client = client
		if err != nil && !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Change with a failure at step %d = %v, want ErrUnavailable", n, err)
		}
		changed, err := s.Change(t.Context(), leasehold.ChangeRequest{ID: got.ID, Resource: "r", Proposed: next})
		if err != nil {
			t.Fatalf("Change after a failure at step %d = %v, want success", n, err)
		}
		release(t, s, changed)
	}
}

// An answer that comes when hardly anything is left of the lease is no grant: the
// lease is given back.
func TestAnswerTooLate(t *testing.T) {
	server := testserver.Redis(t)
	network := testserver.Proxy(t, server.Addr)
	patient := redis.NewClient(&redis.Options{Addr: network.Addr, ReadTimeout: time.Minute, DisableIdentity: true})
	t.Cleanup(func() { _ = patient.Close() })
	s := openOn(t, patient, &Options{Timeout: time.Minute}) // a busy machine is no lost answer
	near := openOn(t, newClient(t, server.Addr), nil)
	r := leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Second}
	g := acquire(t, s, "renewed", "h", time.Minute)
	network.Delay(950*time.Millisecond, 0)
	_, err := s.Acquire(t.Context(), r)
	if !errors.Is(err, leasehold.ErrUnknown) || !errors.Is(err, errTooLate) {
		t.Errorf("Acquire for 1s with an answer after 0.95s = %v, want ErrUnknown", err)
	}
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "renewed", TTL: time.Second})
	if !errors.Is(err, leasehold.ErrUnknown) || !errors.Is(err, errTooLate) {
		t.Errorf("Renew for 1s with an answer after 0.95s = %v, want ErrUnknown", err)
	}
	network.Heal()
	process.Eventually(t, "it is free", func() bool {
		status, err := near.Status(t.Context(), "r")
		return err == nil && !status.Locked()
	})
}

// abandoned counts the grants that were released because nobody received them.
func abandoned(t *testing.T, s *Store) int {
	t.Helper()
	page, err := s.History(t.Context(), leasehold.HistoryRequest{Kind: leasehold.KindReleased})
	must(t, err)
	n := 0
	for _, r := range page.Records {
		if r.Why == leasehold.WhyAbandoned {
			n++
		}
	}
	return n
}

// A caller that leaves before the answer gets ErrUnknown soon, and what was
// granted without its id is released.
func TestCallerLeaves(t *testing.T) {
	server := testserver.Redis(t)
	network := testserver.Proxy(t, server.Addr)
	s := openOn(t, newClient(t, network.Addr), nil)
	near := openOn(t, newClient(t, server.Addr), nil)
	g := acquire(t, s, "held", "h", time.Minute) // connects
	s.slowUntil.Store(math.MaxInt64)             // it was slow before
	network.Delay(1500*time.Millisecond, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute})
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire = %v, want ErrUnknown", err)
	}
	if took := time.Since(started); took > 1400*time.Millisecond {
		t.Errorf("Acquire took %v after its context had ended", took)
	}
	left, leave := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, leave)
	_, err = s.Release(left, leasehold.ReleaseRequest{ID: g.ID, Resource: "held"})
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("Release = %v, want ErrUnknown", err)
	}
	network.Heal()
	process.Eventually(t, "the grant is released", func() bool { return abandoned(t, near) == 1 })
}

// A lost answer to an acquire without an id is the same.
func TestUnknownGrantIsReleased(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, &losing{UniversalClient: client, always: true, most: 3}, nil)
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute})
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("Acquire with a lost answer = %v, want ErrUnknown", err)
	}
	process.Eventually(t, "the grant is released", func() bool { return abandoned(t, s) == 1 })
}

// A server that does not answer in time is ErrUnknown: it may have happened.
func TestTimeout(t *testing.T) {
	server := testserver.Redis(t)
	network := testserver.Proxy(t, server.Addr)
	s := openOn(t, newClient(t, network.Addr), &Options{Timeout: 300 * time.Millisecond})
	g := acquire(t, s, "r", "h", time.Minute)
	s.slowUntil.Store(math.MaxInt64) // it was slow before
	network.Swallow()
	started := time.Now()
	_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("Renew without an answer = %v, want ErrUnknown", err)
	}
	if took := time.Since(started); took > 3*time.Second {
		t.Errorf("Renew took %v with a timeout of 300ms", took)
	}
	network.Heal()
}

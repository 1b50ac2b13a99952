package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
	"github.com/redis/go-redis/v9"
)

const secret = "correct-horse-battery"

// unavailable expects a clear error in time, without the secret.
func unavailable(t *testing.T, what string, started time.Time, err error, mentions ...string) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || !errors.Is(err, leasehold.ErrUnavailable) || e.Store != "redis" {
		t.Fatalf("%s = %v, want ErrUnavailable of the redis store", what, err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("%s took %v, want an answer within 5s", what, took)
	}
	text := fmt.Sprintf("%v %+v", err, *e)
	if strings.Contains(text, secret) {
		t.Errorf("%s gives the secret away", what)
	}
	for _, word := range append(mentions, "redis") {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s = %q, want it to mention %q", what, err, word)
		}
	}
	t.Logf("%s: %v", what, err)
}

// setUser makes a user whose password is the secret.
func setUser(t *testing.T, addr, password, name, rules string) {
	t.Helper()
	admin := redis.NewClient(&redis.Options{Addr: addr, Password: password})
	defer admin.Close()
	args := []any{"acl", "setuser", name, "on", ">" + secret}
	for _, rule := range strings.Fields(rules) {
		args = append(args, rule)
	}
	must(t, admin.Do(t.Context(), args...).Err())
}

func TestOpen(t *testing.T) {
	server := testserver.Redis(t, "--requirepass", secret)
	s, err := Open(t.Context(), &Options{Addrs: []string{server.Addr}, Password: secret, DB: 3, KeyPrefix: "app:"})
	if err != nil {
		t.Fatalf("Open = %v, want a store", err)
	}
	acquire(t, s, "r", "h", time.Minute)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Password: secret, DB: 3})
	defer client.Close()
	if client.Exists(t.Context(), "app:lease:r").Val() != 1 {
		t.Error("the lease is not in database 3 under the prefix")
	}
	must(t, s.Close())
	if err := s.client.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("Ping after Close = %v, want the client closed", err)
	}
}

// A client handed in stays open.
func TestCloseLeavesTheClient(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	acquire(t, s, "r", "h", time.Minute)
	must(t, s.Close())
	must(t, client.Ping(t.Context()).Err())
	_, err := s.Find(t.Context(), leasehold.NewID())
	if !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Find after Close = %v, want ErrUnavailable", err)
	}
}

func TestOpenRefused(t *testing.T) {
	server := testserver.Redis(t, "--requirepass", secret)
	setUser(t, server.Addr, secret, "reader", "~* &* +@read +@connection")
	setUser(t, server.Addr, secret, "runner", "%R~* &* +@all")
	certificate := testserver.NewCertificate(t)
	secured := testserver.RedisTLS(t, certificate)
	stranger := testserver.NewCertificate(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for what, try := range map[string]struct {
		o        Options
		mentions []string
	}{
		"no password":        {Options{Addrs: []string{server.Addr}}, []string{"wants a password"}},
		"wrong password":     {Options{Addrs: []string{server.Addr}, Password: secret + "x"}, []string{"refuses the user name or the password"}},
		"wrong user":         {Options{Addrs: []string{server.Addr}, Username: "nobody", Password: secret}, []string{"refuses the user name or the password"}},
		"read-only user":     {Options{Addrs: []string{server.Addr}, Username: "reader", Password: secret}, []string{"may not do this"}},
		"keys only to read":  {Options{Addrs: []string{server.Addr}, Username: "runner", Password: secret}, []string{"may not do this"}},
		"nobody listens":     {Options{Addrs: []string{"127.0.0.1:1"}, Password: secret}, []string{"connection refused"}},
		"nobody answers":     {Options{Addrs: []string{listener.Addr().String()}, Password: secret}, nil},
		"no such host":       {Options{Addrs: []string{"no-such-host.invalid:6379"}, Password: secret}, nil},
		"database too large": {Options{Addrs: []string{server.Addr}, Password: secret, DB: 99}, []string{"out of range"}},
		"TLS to a plain one": {Options{Addrs: []string{server.Addr}, TLS: certificate.Client()}, []string{"TLS"}},
		"plain to TLS":       {Options{Addrs: []string{secured.Addr}, Password: secret}, []string{"TLS"}},
		"another authority":  {Options{Addrs: []string{secured.Addr}, TLS: stranger.Client()}, []string{"certificate"}},
		"another name":       {Options{Addrs: []string{secured.Addr}, TLS: &tls.Config{RootCAs: certificate.Roots, ServerName: "elsewhere"}}, []string{"certificate"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			s, err := Open(t.Context(), &try.o)
			if err == nil {
				_ = s.Close()
				t.Fatal("Open = a store, want an error")
			}
			unavailable(t, "Open", started, err, try.mentions...)
		})
	}
	t.Run("right TLS", func(t *testing.T) {
		s, err := Open(t.Context(), &Options{Addrs: []string{secured.Addr}, TLS: certificate.Client()})
		must(t, err)
		defer s.Close()
		acquire(t, s, "r", "h", time.Minute)
	})
}

// leastPermissions are those that docs/stores/redis.md lists.
func leastPermissions(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/stores/redis.md")
	must(t, err)
	_, rules, ok := strings.Cut(string(text), "ACL SETUSER leasehold on >PASSWORD\n")
	rules, _, closed := strings.Cut(rules, "```")
	if !ok || !closed {
		t.Fatal("docs/stores/redis.md lists no permissions")
	}
	return rules
}

// Those permissions are enough on a Cluster, with the few that are named there.
func TestLeastPermissionsCluster(t *testing.T) {
	addrs := startCluster(t)
	for _, addr := range addrs {
		setUser(t, addr, "", "leasehold", leastPermissions(t)+" +cluster|slots +command +readonly")
	}
	s, err := Open(t.Context(), &Options{Addrs: addrs, Username: "leasehold", Password: secret})
	must(t, err)
	defer s.Close()
	for op, err := range operations(t.Context(), s, acquire(t, s, "r", "h", time.Minute).Lease) {
		if errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, leasehold.ErrUnknown) {
			t.Errorf("%s = %v, want an answer", op, err)
		}
	}
	tidy(t, s)
}

// The permissions that docs/stores/redis.md lists are enough.
func TestLeastPermissions(t *testing.T) {
	server := testserver.Redis(t)
	setUser(t, server.Addr, "", "leasehold", leastPermissions(t))
	s, err := Open(t.Context(), &Options{Addrs: []string{server.Addr}, Username: "leasehold", Password: secret})
	must(t, err)
	defer s.Close()
	g := acquire(t, s, "r", "h", time.Minute)
	waited := make(chan error, 1)
	go func() {
		_, err := s.Wait(context.WithoutCancel(t.Context()), leasehold.AcquireRequest{Resource: "r", Holder: "w", TTL: time.Minute, Timeout: 20 * time.Second})
		waited <- err
	}()
	process.Eventually(t, "the waiter waits", func() bool { return s.queues.Waiting("r") == 1 })
	if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
		t.Errorf("Renew = %v", err)
	}
	changed, err := s.Change(t.Context(), leasehold.ChangeRequest{ID: g.ID, Proposed: leasehold.NewID()})
	must(t, err)
	moved, err := s.Transfer(t.Context(), leasehold.TransferRequest{ID: changed.ID, To: "i"})
	must(t, err)
	if page, err := s.List(t.Context(), leasehold.ListRequest{}); err != nil || len(page.Leases) != 1 {
		t.Errorf("List = %d, %v", len(page.Leases), err)
	}
	_, err = s.SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, 3)
	must(t, err)
	release(t, s, moved)
	must(t, <-waited)
	if _, err := s.Break(t.Context(), leasehold.BreakRequest{Resource: "r"}); err != nil {
		t.Errorf("Break = %v", err)
	}
	_, _, err = s.recordEnds(t.Context(), true)
	must(t, err)
	tidy(t, s)
	if page, err := s.History(t.Context(), leasehold.HistoryRequest{}); err != nil || len(page.Records) == 0 || len(page.Records) > 4 {
		t.Errorf("History = %d records, %v; want the last few", len(page.Records), err)
	}
}

func TestInvalidOptions(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	source := func(context.Context) (string, time.Time, error) { return "", time.Time{}, nil }
	onClient := func(c redis.UniversalClient, o Options) error { _, err := New(c, &o); return err }
	open := func(o Options) error { _, err := Open(t.Context(), &o); return err }
	for what, try := range map[string]struct {
		err   error
		field string
	}{
		"no client":               {onClient(nil, Options{}), "client"},
		"a ring":                  {onClient(ring, Options{}), "client"},
		"client and address":      {onClient(client, Options{Addrs: []string{"a:1"}}), "client"},
		"client and password":     {onClient(client, Options{Password: "x"}), "client"},
		"negative timeout":        {onClient(client, Options{Timeout: -1}), "Timeout"},
		"a brace in the prefix":   {onClient(client, Options{KeyPrefix: "a{b"}), "KeyPrefix"},
		"an empty hash tag":       {onClient(client, Options{KeyPrefix: "{}a"}), "KeyPrefix"},
		"two hash tags":           {onClient(client, Options{KeyPrefix: "{a}{b}"}), "KeyPrefix"},
		"password and token":      {open(Options{Password: secret, Token: source}), "Password"},
		"cluster and sentinel":    {open(Options{Cluster: true, MasterName: "m"}), "MasterName"},
		"database in a cluster":   {open(Options{Addrs: []string{"a:1", "b:1"}, DB: 1}), "DB"},
		"negative database":       {open(Options{DB: -1}), "DB"},
		"negative timeout (open)": {open(Options{Timeout: -1}), "Timeout"},
	} {
		var e *leasehold.Error
		if !errors.As(try.err, &e) || e.Reason != leasehold.ReasonInvalid || e.Field != try.field || e.Store != kind {
			t.Errorf("%s = %v, want ErrInvalid about %s", what, try.err, try.field)
		}
		if try.err != nil && strings.Contains(try.err.Error(), secret) {
			t.Errorf("%s gives the secret away", what)
		}
	}
	if got := (Options{}).universal(nil).Addrs; !slices.Equal(got, []string{"127.0.0.1:6379"}) {
		t.Errorf("the default address is %q", got)
	}
}

// TestToken has a source whose tokens end after two seconds, as those of Entra ID
// do after an hour. The server then knows only the next one.
func TestToken(t *testing.T) {
	server := testserver.Redis(t)
	admin := newClient(t, server.Addr)
	setPasswords := func(passwords ...string) {
		rules := []any{"acl", "setuser", "identity", "reset", "on", "~*", "&*", "+@all"}
		for _, p := range passwords {
			rules = append(rules, ">"+p)
		}
		if err := admin.Do(context.WithoutCancel(t.Context()), rules...).Err(); err != nil {
			t.Error(err)
		}
	}
	var asked atomic.Int64
	source := func(context.Context) (string, time.Time, error) {
		n := asked.Add(1)
		if n == 3 {
			return "", time.Time{}, errors.New("the authority is down")
		}
		setPasswords(fmt.Sprint(secret, n))
		// The server drops connections of a user whose password was changed; go on
		// with what the client shows next.
		return fmt.Sprint(secret, n), time.Now().Add(2 * time.Second), nil
	}
	s, err := Open(t.Context(), &Options{Addrs: []string{server.Addr}, Username: "identity", Token: source})
	if err != nil {
		t.Fatalf("Open = %v, want a store", err)
	}
	defer s.Close()
	g := acquire(t, s, "r", "h", time.Minute)
	for deadline := time.Now().Add(time.Minute); asked.Load() < 5; time.Sleep(50 * time.Millisecond) {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		if err != nil && !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
			t.Fatalf("Renew = %v, want success", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the source was asked %d times, want 5", asked.Load())
		}
	}
	process.Eventually(t, "the last token works", func() bool {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		return err == nil
	})
	release(t, s, g.Lease)
}

func TestTokenFails(t *testing.T) {
	server := testserver.Redis(t)
	for what, source := range map[string]TokenSource{
		"an error": func(context.Context) (string, time.Time, error) {
			return "", time.Time{}, errors.New("the authority is down")
		},
		"no token":    func(context.Context) (string, time.Time, error) { return "", time.Time{}, nil },
		"wrong token": func(context.Context) (string, time.Time, error) { return secret, time.Time{}, nil },
	} {
		started := time.Now()
		_, err := Open(t.Context(), &Options{Addrs: []string{server.Addr}, Username: "identity", Token: source})
		unavailable(t, what, started, err)
	}
}

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

const secret = "hunter2-secret"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	server := testserver.Etcd(t)
	s, err := Open(t.Context(), &Options{Endpoints: []string{server.Addr}, Prefix: "a/b/"})
	must(t, err)
	acquire(t, s, "r", time.Minute)
	must(t, s.Close())
	must(t, s.Close())
	c := testserver.NewCertificate(t)
	secure := testserver.EtcdTLS(t, c)
	s, err = Open(t.Context(), &Options{Endpoints: []string{secure.Addr}, TLS: c.Client()})
	must(t, err)
	acquire(t, s, "r", time.Minute)
	must(t, s.Close())
}

// refusedOpen expects Open to fail soon, for a reason that is said, without secrets.
func refusedOpen(t *testing.T, o *Options, want error, text string) {
	t.Helper()
	started := time.Now()
	s, err := Open(t.Context(), o)
	if err == nil {
		_ = s.Close()
	}
	var e *leasehold.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Op != "open" || e.Store != kind {
		t.Errorf("Open = %v, want %v of opening etcd", err, want)
		return
	}
	if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), secret) {
		t.Errorf("Open = %v, want %q and no secrets", err, text)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("Open took %v", took)
	}
}

func TestOpenFails(t *testing.T) {
	server := testserver.Etcd(t)
	c := testserver.NewCertificate(t)
	secure := testserver.EtcdTLS(t, c)
	at := func(addr string) []string { return []string{addr} }
	refusedOpen(t, &Options{Endpoints: at("127.0.0.1:1"), Username: "u", Password: secret}, leasehold.ErrUnavailable, "127.0.0.1:1")
	refusedOpen(t, &Options{Endpoints: at("127.0.0.1:1")}, leasehold.ErrUnavailable, "refused")
	refusedOpen(t, &Options{Endpoints: at(testserver.Silent(t))}, leasehold.ErrUnavailable, "etcd")
	refusedOpen(t, &Options{Endpoints: at(testserver.Silent(t)), TLS: c.Client(), Username: "u", Password: secret}, leasehold.ErrUnavailable, "etcd")
	refusedOpen(t, &Options{Endpoints: at(server.Addr), TLS: c.Client()}, leasehold.ErrUnavailable, "does not speak TLS")
	refusedOpen(t, &Options{Endpoints: at(secure.Addr)}, leasehold.ErrUnavailable, "wants TLS")
	refusedOpen(t, &Options{Endpoints: at(secure.Addr), TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, leasehold.ErrUnavailable, "certificate")
	for field, o := range map[string]*Options{
		"Prefix":   {Prefix: "no-slash"},
		"Timeout":  {Timeout: -1},
		"Username": {Password: secret},
	} {
		_, err := Open(t.Context(), o)
		var e *leasehold.Error
		if !errors.As(err, &e) || e.Reason != leasehold.ReasonInvalid || e.Field != field || strings.Contains(err.Error(), secret) {
			t.Errorf("Open with a bad %s = %v", field, err)
		}
		if _, err := New(t.Context(), nil, o); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("New with a bad %s = %v", field, err)
		}
	}
	client := newClient(t, server.Addr)
	for _, o := range []*Options{{Endpoints: at(server.Addr)}, {Prefix: "x"}} {
		if _, err := New(t.Context(), client, o); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("New(%+v) = %v, want ErrInvalid", o, err)
		}
	}
	if _, err := New(t.Context(), nil, nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("New without a client = %v, want ErrInvalid", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := New(gone, client, nil); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("New with an ended context = %v", err)
	}
}

// users makes etcd want a login: root, one that may do all that the store needs, one
// that may only read, and one that may do nothing.
func users(t *testing.T, addr string) {
	client := newClient(t, addr)
	ctx := t.Context()
	end := clientv3.GetPrefixRangeEnd(DefaultPrefix)
	for role, permission := range map[string]clientv3.PermissionType{"holder": clientv3.PermissionType(clientv3.PermReadWrite), "reader": clientv3.PermissionType(clientv3.PermRead)} {
		_, err := client.RoleAdd(ctx, role)
		must(t, err)
		_, err = client.RoleGrantPermission(ctx, role, DefaultPrefix, end, permission)
		must(t, err)
	}
	for _, user := range []string{"root", "holder", "reader", "nobody"} {
		_, err := client.UserAdd(ctx, user, secret)
		must(t, err)
		if user != "nobody" {
			_, err = client.UserGrantRole(ctx, user, user)
			must(t, err)
		}
	}
	_, err := client.AuthEnable(ctx)
	must(t, err)
}

func TestLogin(t *testing.T) {
	server := testserver.Etcd(t)
	users(t, server.Addr)
	as := func(user, password string) *Options {
		return &Options{Endpoints: []string{server.Addr}, Username: user, Password: password}
	}
	refusedOpen(t, as("", ""), leasehold.ErrForbidden, "user name")
	refusedOpen(t, as("holder", secret+"x"), leasehold.ErrForbidden, "password")
	refusedOpen(t, as("stranger", secret), leasehold.ErrForbidden, "password")
	refusedOpen(t, as("nobody", secret), leasehold.ErrForbidden, "docs/stores/etcd.md")
	refusedOpen(t, as("reader", secret), leasehold.ErrForbidden, "docs/stores/etcd.md")
	s, err := Open(t.Context(), as("holder", secret))
	must(t, err)
	defer s.Close()
	g := acquire(t, s, "r", time.Minute)
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	must(t, err)
	_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
	must(t, err)
	_, err = s.Cleanup(t.Context())
	must(t, err)
}

// A login ends when nobody has called for a while, and when etcd is restarted. The
// store logs in again: etcd 3.4 refuses that to a call that shows the old login.
func TestLoginEnds(t *testing.T) {
	server := testserver.Etcd(t, "--auth-token-ttl", "1")
	users(t, server.Addr)
	s, err := Open(t.Context(), &Options{Endpoints: []string{server.Addr}, Username: "holder", Password: secret})
	must(t, err)
	defer s.Close()
	g := acquire(t, s, "r", time.Minute)
	renew := func() error {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		return err
	}
	time.Sleep(4 * time.Second) // the login ends, on etcd's clock
	must(t, renew())
	acquire(t, s, "s", time.Minute)
	server.Restart()
	process.Eventually(t, "it can be renewed again", func() bool { return renew() == nil })
}

// The client stays its owner's. After Close every call is ErrUnavailable.
func TestClose(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	g := acquire(t, s, "r", time.Minute)
	other := acquire(t, s, "other", time.Minute)
	_, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: other.ID, Resource: "other"})
	must(t, err)
	must(t, s.Close())
	for op, err := range operations(t.Context(), s, g.Lease) {
		if !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("%s after Close = %v, want ErrUnavailable", op, err)
		}
	}
	if _, err := client.Get(t.Context(), "k"); err != nil {
		t.Errorf("the client was closed: %v", err)
	}
	leases, err := client.Leases(t.Context())
	must(t, err)
	if len(leases.Leases) != 1 {
		t.Errorf("%d etcd leases after Close, want only that of the lease that is held", len(leases.Leases))
	}
}

// operations are all of a store, on a lease that it holds.
func operations(ctx context.Context, s *Store, g leasehold.Lease) map[string]error {
	errs := map[string]error{}
	_, errs["Acquire"] = s.Acquire(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "h", TTL: time.Minute, ID: leasehold.NewID()})
	_, errs["Wait"] = s.Wait(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "h", TTL: time.Minute, Timeout: time.Second})
	_, errs["Renew"] = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: g.Resource})
	_, errs["Renew for longer"] = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: g.Resource, TTL: time.Hour})
	_, errs["Renew by id"] = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID})
	_, errs["Change"] = s.Change(ctx, leasehold.ChangeRequest{ID: g.ID, Resource: g.Resource, Proposed: leasehold.NewID()})
	_, errs["Transfer by id"] = s.Transfer(ctx, leasehold.TransferRequest{ID: g.ID, To: "i"})
	_, errs["Break"] = s.Break(ctx, leasehold.BreakRequest{Resource: g.Resource})
	_, errs["Status"] = s.Status(ctx, g.Resource)
	_, errs["Find"] = s.Find(ctx, g.ID)
	_, errs["List"] = s.List(ctx, leasehold.ListRequest{})
	_, errs["List of one"] = s.List(ctx, leasehold.ListRequest{Resource: g.Resource})
	_, errs["Cleanup"] = s.Cleanup(ctx)
	_, errs["Settings"] = s.Settings(ctx)
	_, errs["SetSetting"] = s.SetSetting(ctx, leasehold.SettingBlocking, true)
	_, errs["History"] = s.History(ctx, leasehold.HistoryRequest{})
	_, errs["Release"] = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
	errs["Watch"] = s.Watch(ctx, leasehold.WatchRequest{After: 1}, func(leasehold.Notice) error { return nil })
	return errs
}

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/storetest"
	"github.com/leasehold/leasehold/test/process"
)

// A dead server is ErrUnavailable or ErrUnknown everywhere, within the time.
func TestServerIsGone(t *testing.T) {
	server := testserver.Etcd(t)
	s := openOn(t, newClient(t, server.Addr), &Options{Timeout: time.Second})
	g := acquire(t, s, "r", time.Minute)
	server.Kill()
	for op, err := range operations(t.Context(), s, g.Lease) {
		if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
			t.Errorf("%s = %v, want ErrUnavailable or ErrUnknown", op, err)
		}
	}
	server.Start()
	process.Eventually(t, "it answers again", func() bool {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		return err == nil
	})
}

// Without a majority of the members the reason is said.
func TestNoLeader(t *testing.T) {
	members := testserver.EtcdCluster(t)
	s := openOn(t, newClient(t, members[0].Addr), &Options{Timeout: 2 * time.Second})
	acquire(t, s, "r", time.Minute)
	members[1].Kill()
	members[2].Kill()
	process.Eventually(t, "the member knows that there is no leader", func() bool {
		started := time.Now()
		_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "h", TTL: time.Minute})
		if took := time.Since(started); took > 5*time.Second {
			t.Fatalf("Acquire took %v", took)
		}
		return errors.Is(err, leasehold.ErrUnavailable) && strings.Contains(err.Error(), "no leader")
	})
	members[1].Start()
	process.Eventually(t, "two of three are enough", func() bool {
		status, err := s.Status(t.Context(), "r")
		return err == nil && status.Locked()
	})
}

// Where etcd's quota is used up, nothing is granted and the reason is said; leases can
// still be released.
func TestQuota(t *testing.T) {
	client := newClient(t, testserver.Etcd(t, "--quota-backend-bytes", "2000000").Addr)
	s := openOn(t, client, nil)
	g := acquire(t, s, "r", time.Minute)
	for i := range 1000 {
		if _, err := client.Put(t.Context(), fmt.Sprint("filler", i), strings.Repeat("x", 100_000)); err != nil {
			break
		}
	}
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "h", TTL: time.Hour})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "quota") {
		t.Errorf("Acquire = %v, want ErrUnavailable because of the quota", err)
	}
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
		t.Errorf("Release = %v, want success", err)
	}
	if status, err := s.Status(t.Context(), "r"); err != nil || status.Locked() {
		t.Errorf("Status = %+v, %v; want it free", status, err)
	}
}

// losing is a backend that loses the answers of its writes after they happened, while
// it is told to.
type losing struct {
	*backend
	lose func(w cas.Write) bool
}

func (l *losing) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	item, err := l.backend.Swap(ctx, v, w)
	if err == nil && l.lose(w) {
		was := decodeVersion(v)
		l.doubts.note(&transaction{backend: l.backend, was: was, write: w, recorded: len(w.Records)})
		return cas.Item{}, &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: errors.New("by the test")}
	}
	return item, err
}

// What happened is found out after a lost answer, also if the lease is gone by then.
func TestLostAnswers(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	b := &losing{backend: newBackend(client, (*Options)(nil).orDefaults(), false)}
	s := cas.New(b, nil)
	defer s.Close()
	near := openOn(t, client, nil)
	var lost int
	once := func(w cas.Write) bool { lost++; return lost == 1 }
	for name, op := range map[string]func() error{
		"acquire": func() error {
			g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "acquire", Holder: "h", TTL: time.Minute})
			if status, _ := near.Status(t.Context(), "acquire"); err == nil && (status.Lease == nil || status.Lease.Token != g.Token) {
				t.Errorf("Acquire answered token %d, and the lease is %+v", g.Token, status.Lease)
			}
			return err
		},
		"renew": func() error {
			g := acquire(t, near, "renew", time.Minute)
			l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "renew"})
			if err == nil && l.Renewals != 1 {
				t.Errorf("%d renewals after one", l.Renewals)
			}
			return err
		},
		"release": func() error {
			g := acquire(t, near, "release", time.Minute)
			l, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "release"})
			if err == nil && (l.State != leasehold.StateReleased || l.Token != g.Token) {
				t.Errorf("Release = %+v", l)
			}
			return err
		},
		"transfer": func() error {
			g := acquire(t, near, "transfer", time.Minute)
			l, err := s.Transfer(t.Context(), leasehold.TransferRequest{ID: g.ID, Resource: "transfer", To: "i"})
			if err == nil && l.Token <= g.Token {
				t.Errorf("Transfer = token %d after %d", l.Token, g.Token)
			}
			return err
		},
	} {
		lost, b.lose = 0, once
		if err := op(); err != nil {
			t.Errorf("%s with a lost answer = %v, want what happened", name, err)
		}
	}
	// It happened and is over when the store looks.
	b.lose = func(w cas.Write) bool {
		if !w.Row.State.Locked() {
			return false
		}
		_, err := near.Break(t.Context(), leasehold.BreakRequest{Resource: w.Row.Resource})
		must(t, err)
		return true
	}
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "over", Holder: "h", TTL: time.Minute})
	if err != nil || g.Token == 0 {
		t.Errorf("Acquire of a lease that was broken since = %+v, %v; want the grant that there was", g, err)
	}
	if kinds := kindsOf(t, near, "over"); fmt.Sprint(kinds) != "[broken acquired]" {
		t.Errorf("the history has %v, want one grant and its end", kinds)
	}
	// Without a record nothing shows what happened.
	_, err = near.SetSetting(t.Context(), leasehold.SettingKeepHistory, false)
	must(t, err)
	_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "dark", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnknown) {
		t.Errorf("Acquire without a trace = %v, want ErrUnknown", err)
	}
}

func kindsOf(t testing.TB, s *Store, resource string) (kinds []leasehold.Kind) {
	t.Helper()
	page, err := s.History(t.Context(), leasehold.HistoryRequest{Resource: resource})
	must(t, err)
	for _, r := range page.Records {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// A write that was thought lost cannot happen later.
func TestLateWriteIsShutOut(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	b := s.backend
	item, err := b.Load(t.Context(), "r")
	must(t, err)
	w := cas.Write{Row: item.Row, Was: item, TTL: time.Minute, Marks: []string{newMark()}}
	w.Row.State, w.Row.ID, w.Row.Holder, w.Row.TTL = leasehold.StateActive, leasehold.NewID(), "h", time.Minute
	w.Records = []cas.Record{{Record: leasehold.Record{Kind: leasehold.KindAcquired, Resource: "r", Holder: "h", At: time.Now()}, Kept: true}}
	b.doubts.note(&transaction{backend: b, write: w, recorded: 1})
	_, happened, err := b.Resolve(t.Context(), w.Marks[0])
	if happened || err != nil {
		t.Fatalf("Resolve = %v, %v; want that it did not happen", happened, err)
	}
	if _, err := b.Swap(t.Context(), "", w); !errors.Is(err, cas.ErrRaced) {
		t.Errorf("the late write = %v, want ErrRaced", err)
	}
	w.Marks = []string{newMark()}
	if _, err := b.Swap(t.Context(), "", w); err != nil {
		t.Errorf("another write = %v, want success", err)
	}
}

// A waiter on one server is woken by a release on another, not by a look.
func TestWaiterElsewhereIsWoken(t *testing.T) {
	server := testserver.Etcd(t)
	a, b := openOn(t, newClient(t, server.Addr), nil), openOn(t, newClient(t, server.Addr), nil)
	storetest.HandOver{Holding: a, Waiting: b, Noted: func(resource string) bool { return b.Waiting(resource) == 1 }}.Check(t, 10)
}

// The watch and the numbers survive a compaction.
func TestCompaction(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	for range 5 {
		g := acquire(t, s, "r", time.Minute)
		got, err := client.Get(t.Context(), "none")
		must(t, err)
		_, err = client.Compact(t.Context(), got.Header.Revision, clientv3.WithCompactPhysical())
		must(t, err)
		_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
		must(t, err)
	}
	page, err := s.History(t.Context(), leasehold.HistoryRequest{})
	must(t, err)
	if len(page.Records) != 10 || page.Records[0].Seq != 10 {
		t.Errorf("History = %+v, want ten records", page.Records)
	}
}

// An etcd lease is used again, and one that nobody needs is revoked.
func TestEtcdLeases(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	for range 20 {
		g := acquire(t, s, "r", time.Minute)
		_, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
		must(t, err)
	}
	count := func() int {
		leases, err := client.Leases(t.Context())
		must(t, err)
		return len(leases.Leases)
	}
	if n := count(); n != 1 {
		t.Errorf("%d etcd leases after 20 leases one after the other, want 1", n)
	}
	var held []leasehold.Grant
	for i := range maxFree + 10 {
		held = append(held, acquire(t, s, fmt.Sprint("r", i), time.Minute))
	}
	for _, g := range held {
		_, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource})
		must(t, err)
	}
	process.Eventually(t, "what is too many is revoked", func() bool { return count() <= maxFree })
	// One that was revoked by somebody is replaced.
	leases, err := client.Leases(t.Context())
	must(t, err)
	for _, l := range leases.Leases {
		_, err := client.Revoke(t.Context(), l.ID)
		must(t, err)
	}
	acquire(t, s, "again", time.Minute)
}

// Values that this store has not written are not believed.
func TestForeignValues(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	for _, text := range []string{"", "{}", `{"state":"active"}`, `{"state":"released","leaseId":"00000000-0000-4000-8000-000000000001","holder":"h"}`} {
		_, err := client.Put(t.Context(), s.backend.keys.lease("r"), text)
		must(t, err)
		if _, err := s.Status(t.Context(), "r"); !errors.Is(err, leasehold.ErrUnavailable) || !errors.Is(err, errForeign) {
			t.Errorf("Status of %q = %v, want ErrUnavailable", text, err)
		}
		if _, err := s.List(t.Context(), leasehold.ListRequest{}); !errors.Is(err, errForeign) {
			t.Errorf("List of %q = %v, want ErrUnavailable", text, err)
		}
	}
	acquire(t, s, "recorded", time.Minute)
	if kinds := kindsOf(t, s, "recorded"); len(kinds) != 1 {
		t.Fatalf("History = %v", kinds)
	}
	for _, key := range []string{s.backend.keys.record("x"), s.backend.keys.numbered(1), s.backend.keys.counter()} {
		_, err := client.Put(t.Context(), key, "foreign")
		must(t, err)
		if _, err := s.History(t.Context(), leasehold.HistoryRequest{}); !errors.Is(err, errForeign) {
			t.Errorf("History with a foreign %s = %v", key, err)
		}
		_, err = client.Delete(t.Context(), key)
		must(t, err)
	}
	_, err := client.Put(t.Context(), s.backend.keys.store(), "foreign")
	must(t, err)
	if _, err := s.Status(t.Context(), "other"); !errors.Is(err, errForeign) {
		t.Errorf("Status with a foreign state = %v", err)
	}
}

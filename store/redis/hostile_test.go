package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
)

// Settings that somebody wrote into Redis by hand count only if they may be so; the
// scripts and the program agree on that.
func TestNonsenseSettings(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	for _, nonsense := range []string{"", "banana", "-2", "1e9", "0x10", "1.5", "nan", "inf", "99999999999999999999", " 7", "yes", "TRUE"} {
		for key := range defaults {
			must(t, client.HSet(t.Context(), s.keys.settings, key, nonsense).Err())
		}
		settings, err := s.Settings(t.Context())
		must(t, err)
		for _, setting := range settings {
			if setting.Value != setting.Default {
				t.Errorf("%s stored as %q is %v, want the default", setting.Key, nonsense, setting.Value)
			}
		}
		g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", Caller: "c"})
		if err != nil {
			t.Fatalf("Acquire with settings %q = %v, want a grant", nonsense, err)
		}
		if g.TTL != 300*time.Second || g.MaxRenewals != -1 {
			t.Errorf("with settings %q the ttl is %v and the limit %d, want the defaults", nonsense, g.TTL, g.MaxRenewals)
		}
		release(t, s, g.Lease)
		page, err := s.History(t.Context(), leasehold.HistoryRequest{Limit: 1})
		if err != nil || len(page.Records) != 1 || page.Records[0].Token != g.Token {
			t.Errorf("with settings %q History = %+v, %v; want the release", nonsense, page.Records, err)
		}
		if g, err := s.Wait(t.Context(), leasehold.AcquireRequest{Resource: "w", Holder: "h", TTL: time.Minute}); err != nil {
			t.Errorf("Wait with settings %q = %v, want a grant", nonsense, err)
		} else {
			release(t, s, g.Lease)
		}
	}
}

// A key that is of another type, or a hash that is no lease, is an error that says
// that nothing happened, and nobody is granted anything on it.
func TestForeignKeys(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	must(t, client.Set(t.Context(), "lease:string", "x", 0).Err())
	must(t, client.HSet(t.Context(), "lease:half", "leaseId", leasehold.NewID().Reveal()).Err())
	must(t, client.LPush(t.Context(), "{lease:token}:token", "x").Err())
	must(t, client.Set(t.Context(), "{lease:nonsense}:token", "x", 0).Err())
	for _, resource := range []string{"string", "half", "token", "nonsense"} {
		_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute})
		if !errors.Is(err, leasehold.ErrUnavailable) || strings.Contains(err.Error(), "lost") {
			t.Errorf("Acquire of %s = %v, want ErrUnavailable", resource, err)
		}
		if n := client.ZCard(t.Context(), s.keys.names).Val(); n != 0 {
			t.Errorf("after Acquire of %s %d names are listed, want none", resource, n)
		}
	}
	for _, resource := range []string{"string", "half"} {
		if _, err := s.Status(t.Context(), resource); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Status of %s = %v, want ErrUnavailable", resource, err)
		}
	}
}

// A full server refuses, says why, and still lets go.
func TestFullServer(t *testing.T) {
	client := newClient(t, testserver.Redis(t, "--maxmemory-policy", "noeviction").Addr)
	s := openOn(t, client, nil)
	g := acquire(t, s, "held", "h", time.Minute)
	must(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Acquire on a full server = %v, want ErrUnavailable", err)
	}
	if l, err := s.Status(t.Context(), "held"); err != nil || !l.Locked() {
		t.Errorf("Status on a full server = %+v, %v; want the lease", l, err)
	}
	must(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	release(t, s, g.Lease)
}

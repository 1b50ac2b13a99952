package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
	"github.com/leasehold/leasehold/test/process"
	"github.com/redis/go-redis/v9"
)

func acquire(t testing.TB, s *Store, resource, holder string, ttl time.Duration) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: ttl})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

func release(t testing.TB, s *Store, l leasehold.Lease) {
	t.Helper()
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource}); err != nil {
		t.Fatalf("Release(%q) = %v, want success", l.Resource, err)
	}
}

// A thousand competitors with ten stores get one lease.
func TestThousandCompetitors(t *testing.T) {
	server := testserver.Redis(t)
	var stores []leasehold.Store
	for range 10 {
		stores = append(stores, openOn(t, newClient(t, server.Addr), nil))
	}
	storetest.Compete(t, stores...)
}

// The key's time to live is the lease's: Redis itself ends it, without this
// program.
func TestKeyEndsByItself(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, &Options{KeyPrefix: "app:"})
	acquire(t, s, "r", "h", time.Second)
	forever := acquire(t, s, "forever", "h", leasehold.Infinite)
	if left := client.PTTL(t.Context(), "app:lease:r").Val(); left <= 0 || left > time.Second {
		t.Errorf("PTTL = %v, want at most 1s", left)
	}
	if left := client.PTTL(t.Context(), "app:lease:forever").Val(); left != -1 {
		t.Errorf("PTTL of a lease without an end = %v, want none", left)
	}
	must(t, s.Close()) // nothing of ours runs any more
	process.Eventually(t, "the key is gone", func() bool { return client.Exists(t.Context(), "app:lease:r").Val() == 0 })
	if left := client.TTL(t.Context(), "{app:lease:r}:token").Val(); left < 23*time.Hour {
		t.Errorf("the token is kept for %v, want a day", left)
	}
	next := openOn(t, client, &Options{KeyPrefix: "app:"})
	acquire(t, next, "r", "other", time.Second)
	release(t, next, forever.Lease)
	if left := client.TTL(t.Context(), "{app:lease:forever}:token").Val(); left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("the token of a released lease is kept for %v, want a day", left)
	}
}

// Others may read the keys; what stands in them is a promise.
func TestKeys(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	limit := 5
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{
		Resource: "a {b} 50%", Holder: "h", TTL: time.Minute, MaxRenewals: &limit, Caller: "c",
		Metadata: map[string]string{"host": "web-1", "x.y": ""},
	})
	must(t, err)
	fields := client.HGetAll(t.Context(), "lease:a %7Bb%7D 50%25").Val()
	for _, field := range []string{"acquiredAt", "renewedAt", "endsAt"} {
		ms, err := strconv.ParseInt(fields[field], 10, 64)
		if at := time.UnixMilli(ms); err != nil || time.Until(at).Abs() > 2*time.Minute {
			t.Errorf("%s = %q, want Unix milliseconds", field, fields[field])
		}
		delete(fields, field)
	}
	if fields["op"] == "" {
		t.Error("the mark of the operation is missing")
	}
	delete(fields, "op")
	want := map[string]string{
		"leaseId": g.ID.Reveal(), "holder": "h", "token": strconv.FormatUint(g.Token, 10), "state": "active",
		"ttlMs": "60000", "renewals": "0", "maxRenewals": "5", "caller": "c", "metadata": "1", "meta_host": "web-1", "meta_x.y": "",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("HGETALL (-want +got):\n%s", diff)
	}
	keys := client.Keys(t.Context(), "*").Val()
	for _, key := range keys {
		if strings.Contains(key, "a {b}") {
			t.Errorf("key %q has a brace of the name", key)
		}
	}
	if token := client.Get(t.Context(), "{lease:a %7Bb%7D 50%25}:token").Val(); token != want["token"] {
		t.Errorf("the token's own key = %q, want %q", token, want["token"])
	}
	release(t, s, g.Lease)
	left := client.Keys(t.Context(), "*").Val()
	for _, key := range left {
		if strings.HasPrefix(key, "lease:") || strings.HasPrefix(key, "leaseid:") {
			t.Errorf("key %q is left after the release", key)
		}
	}
}

// A server that has forgotten the scripts gets them again.
func TestScriptFlush(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	ctx, stop := context.WithCancel(t.Context())
	var flusher sync.WaitGroup
	flusher.Go(func() {
		for ctx.Err() == nil {
			_ = client.ScriptFlush(ctx).Err()
		}
	})
	for i := range 200 {
		g := acquire(t, s, "r", fmt.Sprint("h", i), time.Minute)
		if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
			t.Fatalf("Renew = %v, want success", err)
		}
		release(t, s, g.Lease)
	}
	stop()
	flusher.Wait()
}

// Every script compiles, with and without a history, and calls only functions that
// it has.
func TestScriptsCompile(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	called := regexp.MustCompile(`(?:^|[^.\w'])(\w+)\(`)
	neverRun := regexp.MustCompile(`if false then .* end`)
	for _, sc := range []*script{
		acquireScript, renewScript, releaseScript, breakScript, changeScript, transferScript, statusScript, listScript,
		expireScript, purgeScript, failedScript, settingScript, admitScript, retractScript, namesScript, forgetScript,
		claimScript, settleScript, dropScript, lastScript, uncountScript,
	} {
		for _, source := range []string{sc.recording().source, sc.quiet().source} {
			if err := client.ScriptLoad(t.Context(), source).Err(); err != nil {
				t.Errorf("SCRIPT LOAD = %v of\n%s", err, source)
			}
			for _, found := range called.FindAllStringSubmatch(neverRun.ReplaceAllString(source, ""), -1) {
				switch name := found[1]; name {
				case "tonumber", "ipairs", "pairs", "unpack", "error", "call", "format":
				default:
					if !strings.Contains(source, "local function "+name+"(") {
						t.Errorf("the function %s is missing in\n%s", name, source)
					}
				}
			}
			if strings.Contains(source, "-- include") || strings.Contains(source, "row[0]") {
				t.Errorf("a file or a field is unknown in\n%s", source)
			}
		}
	}
}

// A stuck script of somebody else makes the server say that it is busy; killed,
// it has done no harm.
func TestScriptKill(t *testing.T) {
	server := testserver.Redis(t, "--busy-reply-threshold", "100")
	client := newClient(t, server.Addr)
	s := openOn(t, client, nil)
	g := acquire(t, s, "r", "h", time.Minute)
	other := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = other.Close() })
	stuck := make(chan error, 1)
	go func() { stuck <- other.Eval(context.WithoutCancel(t.Context()), "while true do end", nil).Err() }()
	process.Eventually(t, "the server is busy", func() bool {
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		return errors.Is(err, leasehold.ErrUnavailable) && strings.Contains(err.Error(), "BUSY")
	})
	must(t, client.ScriptKill(t.Context()).Err())
	if err := <-stuck; err == nil || !refused(err) {
		t.Errorf("a killed script = %v, want an error that says that nothing happened", err)
	}
	if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"}); err != nil {
		t.Errorf("Renew afterwards = %v, want success", err)
	}
}

// A clock that steps back does not repeat a token, and none reaches 2^53.
func TestTokens(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	const ahead = 1 << 52 // years from now
	must(t, client.Set(t.Context(), "{lease:r}:token", ahead, time.Hour).Err())
	g := acquire(t, s, "r", "h", time.Minute)
	if g.Token != ahead+1 {
		t.Errorf("token = %d, want %d", g.Token, uint64(ahead+1))
	}
	must(t, client.Set(t.Context(), "{lease:full}:token", leasehold.MaxToken, time.Hour).Err())
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "full", Holder: "h", TTL: time.Minute})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "2^53") {
		t.Errorf("Acquire with the counter at its end = %v, want ErrUnavailable", err)
	}
	must(t, client.HSet(t.Context(), "lease:r", "token", strconv.FormatUint(leasehold.MaxToken, 10)).Err())
	_, err = s.Transfer(t.Context(), leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "x"})
	if !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Transfer with the counter at its end = %v, want ErrUnavailable", err)
	}
}

package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/store/cosmos"
)

func request(holder string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: "r", Holder: holder, TTL: 10 * time.Second}
}

// inBubble runs f in a bubble with a store on a fake.
func inBubble(t *testing.T, f func(t *testing.T, fake *fake, s *cas.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		s := fake.open(t)
		defer s.Close()
		f(t, fake, s)
	})
}

func wantReason(t *testing.T, call string, err error, want leasehold.Reason) *leasehold.Error {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != want || e.Store != "cosmos" {
		t.Fatalf("%s = %v (%s), want %s of the store cosmos", call, err, leasehold.ReasonOf(err), want)
	}
	for _, secret := range []string{testserver.CosmosKey, "an answer that may say too much"} {
		if strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v", *e), secret) {
			t.Errorf("%s = %v, which says too much", call, err)
		}
	}
	return e
}

// answers makes the faults of the next requests of a kind: the first n of them,
// or all if n is negative.
func answers(f *fake, kind string, n int, status int, headers ...string) func(*http.Request, string) (*http.Response, error) {
	return func(req *http.Request, k string) (*http.Response, error) {
		if !strings.HasPrefix(k, kind) || n == 0 {
			return nil, nil
		}
		n--
		return f.refusal(req, status, headers...), nil
	}
}

func fails(kind string, n int, err error) func(*http.Request, string) (*http.Response, error) {
	return func(_ *http.Request, k string) (*http.Response, error) {
		if !strings.HasPrefix(k, kind) || n == 0 {
			return nil, nil
		}
		n--
		return nil, err
	}
}

var (
	errReset   = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	errRefused = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
)

// What Cosmos may answer to the write of a renewal, whether it happened or not,
// and what the caller is then told.
func TestFaultsOfAWrite(t *testing.T) {
	type fault = func(*http.Request, string) (*http.Response, error)
	for name, c := range map[string]struct {
		before, after func(f *fake) fault
		want          leasehold.Reason
		renewals      int // that are stored in the end
		writes        int // that were sent
	}{
		"412 once":                   {before: func(f *fake) fault { return answers(f, "replace", 1, 412) }, renewals: 1, writes: 2},
		"412 always":                 {before: func(f *fake) fault { return answers(f, "replace", -1, 412) }, want: leasehold.ReasonUnavailable},
		"409 once":                   {before: func(f *fake) fault { return answers(f, "replace", 1, 409) }, renewals: 1, writes: 2},
		"449 once":                   {before: func(f *fake) fault { return answers(f, "replace", 1, 449) }, renewals: 1, writes: 2},
		"404 once":                   {before: func(f *fake) fault { return answers(f, "replace", 1, 404) }, renewals: 1, writes: 2},
		"404 of a session":           {before: func(f *fake) fault { return answers(f, "replace", -1, 404, "x-ms-substatus", "1002") }, want: leasehold.ReasonUnavailable},
		"404 of the container":       {before: func(f *fake) fault { return answers(f, "replace", -1, 404, "x-ms-substatus", "1003") }, want: leasehold.ReasonUnavailable, writes: 1},
		"429 with a short pause":     {before: func(f *fake) fault { return answers(f, "replace", 3, 429, "x-ms-retry-after-ms", "250") }, renewals: 1, writes: 4},
		"429 with a long pause":      {before: func(f *fake) fault { return answers(f, "replace", -1, 429, "Retry-After", "7") }, want: leasehold.ReasonRateLimited, writes: 1},
		"500, not written":           {before: func(f *fake) fault { return answers(f, "replace", 1, 500) }, renewals: 1, writes: 2},
		"500, written":               {after: func(f *fake) fault { return answers(f, "replace", 1, 500) }, renewals: 1, writes: 1},
		"503, written":               {after: func(f *fake) fault { return answers(f, "replace", 1, 503) }, renewals: 1, writes: 1},
		"408, not written":           {before: func(f *fake) fault { return answers(f, "replace", 1, 408) }, renewals: 1, writes: 2},
		"410, not written":           {before: func(f *fake) fault { return answers(f, "replace", 1, 410) }, renewals: 1, writes: 2},
		"reset, written":             {after: func(f *fake) fault { return fails("replace", 1, errReset) }, renewals: 1, writes: 1},
		"reset, not written":         {before: func(f *fake) fault { return fails("replace", 1, errReset) }, renewals: 1, writes: 2},
		"no Date, written":           {after: func(f *fake) fault { return answers(f, "replace", 1, 200, "Date", "") }, renewals: 1, writes: 1},
		"401: an expired token":      {before: func(f *fake) fault { return answers(f, "replace", -1, 401) }, want: leasehold.ReasonUnauthenticated, writes: 1},
		"403: a reader":              {before: func(f *fake) fault { return answers(f, "replace", -1, 403) }, want: leasehold.ReasonForbidden, writes: 1},
		"403: no longer writable":    {before: func(f *fake) fault { return answers(f, "replace", -1, 403, "x-ms-substatus", "3") }, want: leasehold.ReasonUnknown}, // the SDK looks for another region all the time
		"400":                        {before: func(f *fake) fault { return answers(f, "replace", -1, 400) }, want: leasehold.ReasonUnavailable, writes: 1},
		"refused":                    {before: func(f *fake) fault { return fails("replace", -1, errRefused) }, want: leasehold.ReasonUnavailable},
		"reset, written, and silent": {after: func(f *fake) fault { return fails("re", -1, errReset) }, want: leasehold.ReasonUnknown, renewals: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
				g, err := s.Acquire(t.Context(), request("h"))
				if err != nil {
					t.Fatal(err)
				}
				var before, after fault
				if c.before != nil {
					before = c.before(f)
				}
				if c.after != nil {
					after = c.after(f)
					if strings.HasSuffix(name, "silent") { // only from the write on
						all := after
						wrote := false
						after = func(r *http.Request, kind string) (*http.Response, error) {
							if wrote = wrote || kind == "replace"; !wrote {
								return nil, nil
							}
							return all(r, kind)
						}
					}
				}
				f.set(before, after)
				start := time.Now()
				l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
				if took := time.Since(start); took > 5*time.Second || c.want == leasehold.ReasonRateLimited && took > 0 {
					t.Errorf("Renew took %v, want at most 5s, and nothing where a repetition would come too late", took)
				}
				if c.want != "" {
					wantReason(t, "Renew", err, c.want)
				} else if err != nil || l.Renewals != 1 {
					t.Fatalf("Renew = %+v, %v; want success", l, err)
				}
				if n := f.count("replace"); c.writes > 0 && n != c.writes {
					t.Errorf("%d writes, want %d", n, c.writes)
				}
				f.set(nil, nil)
				if st, err := s.Status(t.Context(), "r"); err != nil || st.Lease.Renewals != c.renewals {
					t.Errorf("Status = %+v, %v; want %d renewals", st.Lease, err, c.renewals)
				}
			})
		})
	}
}

func TestFaultsOfACreate(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		f.set(nil, answers(f, "create", 1, 500)) // written, and the answer lost
		g, err := s.Acquire(t.Context(), request("h"))
		if err != nil || f.count("create") != 1 {
			t.Fatalf("Acquire = %v after %d creates, want the one grant", err, f.count("create"))
		}
		_, err = s.Acquire(t.Context(), request("other"))
		if e := wantReason(t, "Acquire", err, leasehold.ReasonHeld); e.Current.Token != g.Token {
			t.Errorf("held by token %d, want %d", e.Current.Token, g.Token)
		}
	})
}

func TestFaultsOfARead(t *testing.T) {
	for name, c := range map[string]struct {
		before func(f *fake) func(*http.Request, string) (*http.Response, error)
		want   leasehold.Reason
		reads  int
	}{
		"429 twice": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", 2, 429, "x-ms-retry-after-ms", "10")
		}, "", 3},
		"429 without a hint": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", 1, 429, "x-ms-retry-after-ms", "")
		}, "", 2},
		"429 for ever": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 429, "x-ms-retry-after-ms", "1")
		}, leasehold.ReasonRateLimited, 10},
		"404 of the container": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 404, "x-ms-substatus", "1003")
		}, leasehold.ReasonUnavailable, 1},
		"404 of a session that is not there yet": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 404, "x-ms-substatus", "1002")
		}, leasehold.ReasonUnavailable, 0},
		"404 of a session that comes late": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", 5, 404, "x-ms-substatus", "1002")
		}, "", 6},
		"404 of the document": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 404, "x-ms-substatus", "0")
		}, "", 1},
		"404 without a Date": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 404, "Date", "yesterday")
		}, leasehold.ReasonUnavailable, 1},
		"200 without a Date": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 200, "Date", "")
		}, leasehold.ReasonUnavailable, 1},
		"200 with a foreign document": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 200)
		}, leasehold.ReasonUnavailable, 1},
		"401": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 401)
		}, leasehold.ReasonUnauthenticated, 1},
		"500": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "read", -1, 500)
		}, leasehold.ReasonUnavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
				f.set(c.before(f), nil)
				_, err := s.Status(t.Context(), "r")
				if c.want != "" {
					wantReason(t, "Status", err, c.want)
				} else if err != nil {
					t.Errorf("Status = %v, want success", err)
				}
				if n := f.count("read"); c.reads > 0 && n != c.reads {
					t.Errorf("%d reads, want %d", n, c.reads)
				}
			})
		})
	}
}

func TestFaultsOfAQuery(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		f.set(answers(f, "query", -1, 503), nil)
		_, err := s.Find(t.Context(), leasehold.NewID())
		wantReason(t, "Find", err, leasehold.ReasonUnavailable)
		_, err = s.List(t.Context(), leasehold.ListRequest{})
		wantReason(t, "List", err, leasehold.ReasonUnavailable)
		f.set(nil, answers(f, "query", -1, 200, "Date", ""))
		_, err = s.Find(t.Context(), leasehold.NewID())
		wantReason(t, "Find", err, leasehold.ReasonUnavailable)
	})
}

// A call that nothing answers.
func TestTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		g, err := s.Acquire(t.Context(), request("h"))
		if err != nil {
			t.Fatal(err)
		}
		silent := func(req *http.Request, _ string) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		f.set(silent, nil)
		start := time.Now()
		_, err = s.Status(t.Context(), "r")
		wantReason(t, "Status", err, leasehold.ReasonUnavailable)
		f.set(func(req *http.Request, kind string) (*http.Response, error) {
			if kind != "replace" {
				return nil, nil
			}
			return silent(req, kind)
		}, nil)
		_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		wantReason(t, "Renew", err, leasehold.ReasonUnknown)
		if took := time.Since(start); took > 9*time.Second {
			t.Errorf("two calls without an answer took %v, want 4 s each", took)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("had enough"))
		defer cancel()
		f.set(answers(f, "read", -1, 429, "x-ms-retry-after-ms", "900"), nil)
		_, err = s.Status(ctx, "r")
		wantReason(t, "Status", err, leasehold.ReasonRateLimited)
	})
}

// The Date header decides, whatever the client's clock says.
func TestTimeIsTheDateHeader(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		service := time.Date(2031, 5, 6, 7, 8, 9, 900e6, time.UTC) // years away from the client
		clock := f.dated(service)
		g, err := s.Acquire(t.Context(), request("h"))
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(service.Truncate(time.Second).UnixMicro()); g.Token != want || g.Remaining != g.TTL {
			t.Errorf("token %d with %v remaining, want the service's microseconds %d and all", g.Token, g.Remaining, want)
		}
		d := f.one(t)
		if d["expiresAt"] != "2031-05-06T07:08:19.000Z" || d["acquiredAt"] != "2031-05-06T07:08:09.000Z" {
			t.Errorf("document = %v", d)
		}
		time.Sleep(time.Hour) // the client's clock
		if _, err := s.Acquire(t.Context(), request("other")); !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("Acquire = %v, want ErrHeld", err)
		}
		end := time.Date(2031, 5, 6, 7, 8, 19, 0, time.UTC)
		for past, held := range map[time.Duration]bool{-time.Second: true, 0: true, time.Second: true, 1999 * time.Millisecond: true, 2 * time.Second: false} {
			clock.set(end.Add(past))
			st, err := s.Status(t.Context(), "r")
			if err != nil || st.Locked() != held {
				t.Errorf("%v after the end: locked %v, %v; want %v", past, st.Locked(), err, held)
			}
		}
		clock.set(end.Add(1999 * time.Millisecond))
		if _, err := s.Acquire(t.Context(), request("other")); !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("Acquire within a second of the end = %v, want ErrHeld", err)
		}
		clock.set(end.Add(2 * time.Second))
		next, err := s.Acquire(t.Context(), request("other"))
		if err != nil || next.Token <= g.Token {
			t.Errorf("Acquire = token %d, %v; want more than %d", next.Token, err, g.Token)
		}
	})
}

// A renewal arrives when the lease has ended by the service's time.
func TestRenewalThatLandsAfterTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		clock := f.dated(time.Now())
		g, err := s.Acquire(t.Context(), request("h"))
		if err != nil {
			t.Fatal(err)
		}
		f.set(func(_ *http.Request, kind string) (*http.Response, error) {
			if kind == "replace" && g.ID != (leasehold.ID{}) {
				clock.set(clock.now().Add(time.Minute))
				g.ID = leasehold.ID{}
			}
			return nil, nil
		}, nil)
		_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		wantReason(t, "Renew", err, leasehold.ReasonExpired)
		if st, err := s.Status(t.Context(), "r"); err != nil || st.Locked() || st.Lease.State != leasehold.StateExpired {
			t.Errorf("Status = %+v, %v; want expired", st.Lease, err)
		}
	})
}

// The document's shape is a promise to people who query it.
func TestDocument(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		f.dated(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
		limit := 5
		g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{
			Resource: "jobs/nightly #1", Holder: "h", TTL: 90 * time.Second, MaxRenewals: &limit, Caller: "team",
			Metadata: map[string]string{"env": "prod", "odd": "'; --"},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := f.one(t)
		marks := got["marks"].([]any)
		delete(got, "marks")
		delete(got, "_etag")
		want := map[string]any{
			"id": "jobs~2Fnightly~20~231", "partitionKey": "resource:jobs~2Fnightly~20~231", "leaseName": "jobs/nightly #1",
			"status": "active", "leaseId": g.ID.Reveal(), "holder": "h", "token": float64(g.Token),
			"acquiredAt": "2030-01-02T03:04:05.000Z", "renewedAt": "2030-01-02T03:04:05.000Z", "expiresAt": "2030-01-02T03:05:35.000Z",
			"durationSeconds": 90.0, "renewalCount": 0.0, "maxRenewals": 5.0, "caller": "team",
			"metadata": map[string]any{"env": "prod", "odd": "'; --"}, "ttl": 2*90.0 + 86400,
		}
		if diff := cmp.Diff(want, got); diff != "" || len(marks) != 1 {
			t.Errorf("document (-want +got), %d marks:\n%s", len(marks), diff)
		}
	})
}

func TestDocumentOfOtherStates(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		ctx := t.Context()
		r := request("h")
		r.TTL = leasehold.Infinite
		g, err := s.Acquire(ctx, r)
		if d := f.one(t); err != nil || d["ttl"] != -1.0 || d["expiresAt"] != nil || d["durationSeconds"] != -1.0 {
			t.Errorf("an infinite lease = %v, %v", d, err)
		}
		if l, err := s.Renew(ctx, leasehold.RenewRequest{ID: g.ID, Resource: "r"}); err != nil || l.Remaining != leasehold.Infinite {
			t.Errorf("Renew = %+v, %v", l, err)
		}
		to := leasehold.NewID()
		if _, err := s.Transfer(ctx, leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "i", Proposed: to}); err != nil {
			t.Fatal(err)
		}
		if d := f.one(t); d["formerId"] != g.ID.Reveal() || d["handed"] != true || d["leaseId"] != to.Reveal() {
			t.Errorf("a transferred lease = %v", d)
		}
		if l, err := s.Find(ctx, to); err != nil || l.Holder != "i" || l.Resource != "r" {
			t.Errorf("Find = %+v, %v", l, err)
		}
		if _, err := s.Release(ctx, leasehold.ReleaseRequest{ID: to}); err != nil {
			t.Fatal(err)
		}
		if d := f.one(t); d["status"] != "released" || d["endedAt"] == nil || d["ttl"] != 86400.0 {
			t.Errorf("a released lease = %v", d)
		}
		time.Sleep(2 * time.Hour)
		if c, err := s.Cleanup(ctx); err != nil || c.Forgotten != 1 {
			t.Errorf("Cleanup = %+v, %v", c, err)
		}
		if st, err := s.Status(ctx, "r"); err != nil || st.Lease != nil {
			t.Errorf("Status = %+v, %v; want available", st.Lease, err)
		}
		r.TTL = leasehold.MaxTTL
		if next, err := s.Acquire(ctx, r); err != nil || next.Token <= g.Token {
			t.Errorf("Acquire = %+v, %v", next, err)
		}
		if d := f.one(t); d["ttl"] != float64(1<<31-1) {
			t.Errorf("ttl = %v, want the most that Cosmos takes", d["ttl"])
		}
	})
}

// Documents of others, or that somebody has spoilt.
func TestForeignDocuments(t *testing.T) {
	for field, value := range map[string]any{
		"status": "sleeping", "leaseId": "no uuid", "formerId": "no uuid", "leaseName": "another", "expiresAt": "soon",
		"token": float64(1 << 53), "durationSeconds": 1e300, "renewalCount": -1, "maxRenewals": -2, "holder": "",
	} {
		inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
			g, err := s.Acquire(t.Context(), request("h"))
			if err != nil {
				t.Fatal(err)
			}
			f.one(t)[field] = value
			_, err = s.Acquire(t.Context(), request("other"))
			wantReason(t, "Acquire with a spoilt "+field, err, leasehold.ReasonUnavailable)
			if strings.Contains(err.Error(), g.ID.Reveal()) {
				t.Error("the error gives the id away")
			}
			if page, err := s.List(t.Context(), leasehold.ListRequest{}); err != nil || len(page.Leases) != 0 && field != "leaseName" {
				t.Errorf("List = %+v, %v; want none", page, err)
			}
		})
	}
}

// Reads show the session token of this store's own writes.
func TestReadsSeeOwnWrites(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		if _, err := s.Acquire(t.Context(), request("h")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Status(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(f.sessions, "0:-1#7") {
			t.Error("no read showed a session token")
		}
	})
}

// Whoever loses a race shows the session of the answer, and so sees who won.
func TestReadsSeeWhatWon(t *testing.T) {
	for kind, status := range map[string]int{"create": 409, "replace": 412} {
		inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
			if kind == "replace" {
				if _, err := s.Acquire(t.Context(), request("h")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // it has ended
			}
			f.set(answers(f, kind, 1, status, "x-ms-session-token", "0:-1#99"), nil)
			f.sessions = nil
			if _, err := s.Acquire(t.Context(), request("h")); err != nil {
				t.Fatal(err)
			}
			if len(f.sessions) == 0 || f.sessions[len(f.sessions)-1] != "0:-1#99" {
				t.Errorf("after %d reads showed the sessions %q", status, f.sessions)
			}
		})
	}
}

// A list of more leases than are kept in memory at a time.
func TestLongList(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake, s *cas.Store) {
		for i := range 1100 {
			r := request("h")
			r.Resource = fmt.Sprintf("p/%04d", i)
			if _, err := s.Acquire(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		page, err := s.List(t.Context(), leasehold.ListRequest{Prefix: "p/", Limit: 2})
		if err != nil || len(page.Leases) != 2 || page.Leases[0].Resource != "p/0000" || page.Leases[1].Resource != "p/0001" {
			t.Fatalf("List = %+v, %v; want the first two", page.Leases, err)
		}
		page, err = s.List(t.Context(), leasehold.ListRequest{Prefix: "p/", Limit: 2, Cursor: page.Cursor})
		if err != nil || len(page.Leases) != 2 || page.Leases[0].Resource != "p/0002" {
			t.Errorf("List = %+v, %v; want the next two", page.Leases, err)
		}
	})
}

func TestPartitions(t *testing.T) {
	name, err := leasehold.Name{Environment: "prod", Region: "eu", Tenant: "acme é", Service: "pay", Resource: "1"}.Build()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", leasehold.MaxResource)
	for partition, want := range map[cosmos.Partition]map[string]string{
		cosmos.ByTenant:   {name: "tenant:acme~20~C3~A9", "plain": "resource:plain", "prod::" + ":pay:1": "resource:prod:::pay:1"},
		cosmos.ByRegion:   {name: "region:eu", "plain": "resource:plain"},
		cosmos.ByResource: {name: "", "..": "resource:~2E.", long: ""},
	} {
		for resource, key := range want {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				o := f.options()
				o.Partition = partition
				s, err := cosmos.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				r := request("h")
				r.Resource = resource
				if _, err := s.Acquire(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				d := f.one(t)
				got := d["partitionKey"].(string)
				if key != "" && got != key || len(got) > 100 || len(d["id"].(string)) > 255 || strings.ContainsAny(d["id"].(string), `/\?#`) {
					t.Errorf("%s: %.40q has the partition key %q and the id %q, want %q", partition, resource, got, d["id"], key)
				}
				if st, err := s.Status(t.Context(), resource); err != nil || !st.Locked() {
					t.Errorf("Status = %+v, %v", st, err)
				}
			})
		}
	}
}

func TestSeveralWriteRegions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		region := func(name string) map[string]string {
			return map[string]string{"name": name, "databaseAccountEndpoint": "https://" + name + ".documents.azure.com"}
		}
		for _, account := range []map[string]any{
			{"enableMultipleWriteLocations": true, "writableLocations": []any{region("a")}, "readableLocations": []any{region("a")}},
			{"writableLocations": []any{region("a"), region("b")}, "readableLocations": []any{region("a"), region("b")}},
		} {
			for _, there := range []bool{true, false} {
				f := newFake()
				f.account = account
				if there {
					f.containers["dbs/leasehold/colls/leases"] = map[string]any{"id": "leases"}
				}
				_, err := cosmos.Open(t.Context(), f.options())
				e := wantReason(t, "Open", err, leasehold.ReasonUnavailable)
				if !strings.Contains(e.Error(), "several write regions") || f.count("create database") > 0 {
					t.Errorf("Open = %v, want the reason, and nothing created", e)
				}
			}
		}
		// One that gets a second write region later is refused from then on.
		f := newFake()
		s := f.open(t)
		defer s.Close()
		if _, err := s.Acquire(t.Context(), request("h")); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.account = map[string]any{"enableMultipleWriteLocations": true, "writableLocations": f.account["writableLocations"], "readableLocations": f.account["readableLocations"]}
		f.mu.Unlock()
		time.Sleep(10 * time.Minute)
		for range 3 { // the SDK asks in the background of a request
			_, _ = s.Status(t.Context(), "r")
			synctest.Wait()
		}
		_, err := s.Acquire(t.Context(), request("i"))
		wantReason(t, "Acquire", err, leasehold.ReasonUnavailable)
	})
}

func TestOpenCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		o := f.options()
		o.NoCreate = true
		_, err := cosmos.Open(t.Context(), o)
		if e := wantReason(t, "Open", err, leasehold.ReasonUnavailable); !strings.Contains(e.Error(), `container "leases"`) || f.count("create database") > 0 {
			t.Errorf("Open = %v, want the missing container named and nothing created", e)
		}
		var throughput string
		f.set(func(req *http.Request, kind string) (*http.Response, error) {
			if kind == "create container" {
				throughput = req.Header.Get("x-ms-offer-throughput")
			}
			return nil, nil
		}, nil)
		o.NoCreate, o.Throughput, o.Database, o.Container = false, 1000, "db", "c"
		s, err := cosmos.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := f.containers["dbs/db/colls/c"]
		b, _ := json.Marshal(c)
		if throughput != "1000" || c["defaultTtl"] != -1.0 || !strings.Contains(string(b), `"/partitionKey"`) {
			t.Errorf("the container is %s with %s RU/s", b, throughput)
		}
		// Racing creators are fine.
		racing := newFake()
		racing.set(nil, func(req *http.Request, kind string) (*http.Response, error) {
			if strings.HasPrefix(kind, "create ") {
				return racing.refusal(req, 409), nil
			}
			return nil, nil
		})
		s, err = cosmos.Open(t.Context(), racing.options())
		if err != nil {
			t.Fatalf("Open = %v, want success", err)
		}
		_ = s.Close()
		// A container of somebody else is refused.
		other := newFake()
		other.containers["dbs/leasehold/colls/leases"] = map[string]any{"id": "leases", "partitionKey": map[string]any{"paths": []string{"/customer"}, "kind": "Hash"}}
		_, err = cosmos.Open(t.Context(), other.options())
		if e := wantReason(t, "Open", err, leasehold.ReasonUnavailable); !strings.Contains(e.Error(), "/customer") {
			t.Errorf("Open = %v, want the partition key named", e)
		}
	})
}

func TestOpenFails(t *testing.T) {
	for name, c := range map[string]struct {
		before func(f *fake) func(*http.Request, string) (*http.Response, error)
		want   leasehold.Reason
		text   string
	}{
		"a wrong key": {func(f *fake) func(*http.Request, string) (*http.Response, error) { return answers(f, "", -1, 401) }, leasehold.ReasonUnauthenticated, "check the account's key"},
		"a firewall":  {func(f *fake) func(*http.Request, string) (*http.Response, error) { return answers(f, "", -1, 403) }, leasehold.ReasonForbidden, "firewall"},
		"a reader": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "create", -1, 403)
		}, leasehold.ReasonForbidden, "may not create"},
		"a reader of databases": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "create container", -1, 403)
		}, leasehold.ReasonForbidden, "may not create"},
		"throttled": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return answers(f, "create", -1, 500)
		}, leasehold.ReasonUnavailable, "500"},
		"an unreachable host": {func(f *fake) func(*http.Request, string) (*http.Response, error) { return fails("", -1, errRefused) }, leasehold.ReasonUnavailable, "connection refused"},
		"an unknown host": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return fails("", -1, &net.DNSError{Name: "fake.documents.azure.com", Err: "no such host"})
		}, leasehold.ReasonUnavailable, "no such host"},
		"silence": {func(f *fake) func(*http.Request, string) (*http.Response, error) {
			return func(req *http.Request, _ string) (*http.Response, error) {
				select {
				case <-req.Context().Done():
				case <-time.After(time.Hour):
				}
				return nil, errReset
			}
		}, leasehold.ReasonUnavailable, "no answer within 4s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.before = c.before(f)
				start := time.Now()
				_, err := cosmos.Open(t.Context(), f.options())
				e := wantReason(t, "Open", err, c.want)
				if took := time.Since(start); took > 5*time.Second || !strings.Contains(e.Error(), c.text) || e.Op != "open" {
					t.Errorf("Open = %v after %v, want %q within 5s", e, took, c.text)
				}
				time.Sleep(2 * time.Hour) // the SDK's own requests end
			})
		})
	}
}

// credential is one that a test steers.
type credential struct {
	mu     sync.Mutex
	err    error
	scopes []string
}

func (c *credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = o.Scopes
	return azcore.AccessToken{Token: "a-secret-token", ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

func (c *credential) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func TestCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		o := f.options()
		cred := &credential{}
		o.Key, o.Credential = "", cred
		s, err := cosmos.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if want := []string{"https://fake.documents.azure.com/.default"}; !slices.Equal(cred.scopes, want) {
			t.Errorf("scopes = %q, want %q", cred.scopes, want)
		}
		expired := errors.New("the secret of the application has expired")
		cred.fail(expired)
		time.Sleep(2 * time.Hour) // so does the token
		_, err = s.Acquire(t.Context(), request("h"))
		if e := wantReason(t, "Acquire", err, leasehold.ReasonUnauthenticated); !errors.Is(e, expired) || strings.Contains(e.Error(), "a-secret-token") {
			t.Errorf("Acquire = %v, want the credential's error", e)
		}
		_, err = cosmos.Open(t.Context(), o)
		wantReason(t, "Open", err, leasehold.ReasonUnauthenticated)
	})
}

func TestClientStaysItsOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		key, _ := azcosmos.NewKeyCredential(testserver.CosmosKey)
		client, err := azcosmos.NewClientWithKey("https://fake.documents.azure.com", key, f.options().Client)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for range 2 {
			s, err := cosmos.New(t.Context(), client, nil)
			if err != nil {
				t.Fatal(err)
			}
			g, err := s.Acquire(t.Context(), request("h"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
			_, err = s.Status(t.Context(), "r")
			wantReason(t, "Status after Close", err, leasehold.ReasonUnavailable)
		}
	})
}

// A client with the SDK's own retries does not repeat a write that may have
// happened, so a 412 is never the answer to one's own write.
func TestClientWithRetriesOfItsOwn(t *testing.T) {
	for _, status := range []int{408, 500, 502, 503, 504, 0} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			key, _ := azcosmos.NewKeyCredential(testserver.CosmosKey)
			client, err := azcosmos.NewClientWithKey("https://fake.documents.azure.com", key, f.options().Client)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			s, err := cosmos.New(t.Context(), client, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			g, err := s.Acquire(t.Context(), request("h"))
			if err != nil {
				t.Fatal(err)
			}
			after := answers(f, "replace", 1, status)
			if status == 0 {
				after = fails("replace", 1, errReset)
			}
			f.set(nil, after)
			l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
			if err != nil || l.Renewals != 1 || f.count("replace") != 1 {
				t.Errorf("Renew after %d = %+v, %v with %d writes; want one", status, l, err, f.count("replace"))
			}
		})
	}
}

func TestOptions(t *testing.T) {
	key := testserver.CosmosKey
	for name, c := range map[string]struct {
		o     cosmos.Options
		field string
	}{
		"nothing":             {cosmos.Options{}, "credentials"},
		"two ways in":         {cosmos.Options{Endpoint: "https://a", Key: key, Credential: &credential{}}, "credentials"},
		"two endpoints":       {cosmos.Options{Endpoint: "https://a", ConnectionString: "AccountEndpoint=https://a;AccountKey=" + key}, "endpoint"},
		"no endpoint":         {cosmos.Options{Key: key}, "endpoint"},
		"http":                {cosmos.Options{Endpoint: "http://example.com", Key: key}, "endpoint"},
		"a path":              {cosmos.Options{Endpoint: "https://example.com/dbs", Key: key}, "endpoint"},
		"a password":          {cosmos.Options{Endpoint: "https://u:secret@example.com", Key: key}, "endpoint"},
		"a key not in base64": {cosmos.Options{Endpoint: "https://a", Key: "secret!"}, "credentials"},
		"half a string":       {cosmos.Options{ConnectionString: "AccountKey=" + key}, "connection_string"},
		"a foreign string":    {cosmos.Options{ConnectionString: "AccountEndpoint=https://a;Password=secret"}, "connection_string"},
		"a bad database":      {cosmos.Options{Database: "a/b"}, "database"},
		"a bad container":     {cosmos.Options{Container: "a b"}, "container"},
		"a bad partition":     {cosmos.Options{Partition: "holder"}, "partition"},
		"little throughput":   {cosmos.Options{Throughput: 10}, "throughput"},
		"a tiny ttl":          {cosmos.Options{DefaultTTL: time.Millisecond}, "default_ttl"},
		"a negative timeout":  {cosmos.Options{Timeout: -1}, "timeout"},
	} {
		_, err := cosmos.Open(t.Context(), &c.o)
		if e := wantReason(t, "Open with "+name, err, leasehold.ReasonInvalid); e.Field != c.field || strings.Contains(e.Error(), "secret") {
			t.Errorf("Open with %s = %v, want the field %q", name, e, c.field)
		}
	}
	_, err := cosmos.New(t.Context(), nil, nil)
	wantReason(t, "New", err, leasehold.ReasonInvalid)
	_, err = cosmos.New(t.Context(), nil, &cosmos.Options{Timeout: -1})
	wantReason(t, "New", err, leasehold.ReasonInvalid)
}

package azblob_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
)

// scene is a store with a lease on "r" of "h", whose next calls fail.
type scene struct {
	testing.TB
	*azblob.Store
	faults *faults
	other  *azblob.Store // of another process, without faults
	lease  leasehold.Lease
}

func inScene(t *testing.T, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newAzureAPI(t)
		f := &faults{RoundTripper: api.transport}
		s := &scene{TB: t, faults: f, Store: faultyOn(t, f, nil), other: onAzureAPI(t, api)}
		s.lease = s.acquired("r", leasehold.ID{}).Lease
		test(s)
	})
}

func (s *scene) acquired(resource string, id leasehold.ID) leasehold.Grant {
	s.Helper()
	g, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", ID: id, TTL: longest})
	if err != nil {
		s.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

// calls of the store by name, each on what it needs.
var operations = map[string]func(s *scene) error{
	"acquire": func(s *scene) error {
		_, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "free", Holder: "h", TTL: longest})
		return err
	},
	"again": func(s *scene) error {
		_, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: s.lease.ID, TTL: longest})
		return err
	},
	"renew": func(s *scene) error {
		_, err := s.Renew(s.Context(), leasehold.RenewRequest{Resource: "r", ID: s.lease.ID})
		return err
	},
	"retime": func(s *scene) error {
		_, err := s.Renew(s.Context(), leasehold.RenewRequest{Resource: "r", ID: s.lease.ID, TTL: shortest})
		return err
	},
	"change": func(s *scene) error {
		_, err := s.Change(s.Context(), leasehold.ChangeRequest{Resource: "r", ID: s.lease.ID, Proposed: leasehold.NewID()})
		return err
	},
	"release": func(s *scene) error {
		_, err := s.Release(s.Context(), leasehold.ReleaseRequest{Resource: "r", ID: s.lease.ID})
		return err
	},
	"break": func(s *scene) error {
		_, err := s.Break(s.Context(), leasehold.BreakRequest{Resource: "r"})
		return err
	},
	"status": func(s *scene) error {
		_, err := s.Status(s.Context(), "r")
		return err
	},
	"list": func(s *scene) error {
		_, err := s.List(s.Context(), leasehold.ListRequest{})
		return err
	},
}

// wantReason expects an error that names the store and shows no secret; empty:
// success.
func (s *scene) wantReason(call string, err error, want leasehold.Reason) {
	s.Helper()
	if leasehold.ReasonOf(err) != want || (err == nil) != (want == "") {
		s.Errorf("%s = %v (%s), want %q", call, err, leasehold.ReasonOf(err), want)
	}
	var e *leasehold.Error
	if err == nil || !errors.As(err, &e) {
		return
	}
	if e.Store != "azblob" {
		s.Errorf("%s: the error's store is %q", call, e.Store)
	}
	if strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), s.lease.ID.Reveal()) {
		s.Errorf("%s = %v, which shows a secret", call, err)
	}
}

// TestRecordedFaults answers calls as the service does when it fails.
func TestRecordedFaults(t *testing.T) {
	testserver.Wanted(t)
	var (
		busyNow   = fault{status: 429, code: "TooManyRequests", header: http.Header{"Retry-After": {"2"}}}
		busyLong  = fault{status: 429, code: "TooManyRequests", header: http.Header{"Retry-After": {"120"}}}
		broken    = fault{status: 500, code: "InternalError"}
		brokenYet = fault{status: 500, code: "InternalError", done: true}
		timedOut  = fault{status: 500, code: "OperationTimedOut"}
		raced     = fault{status: 412, code: "ConditionNotMet"}
		leased    = fault{status: 409, code: "LeaseAlreadyPresent"}
		oldToken  = fault{status: 401, code: "InvalidAuthenticationInfo"}
		badKey    = fault{status: 403, code: "AuthenticationFailed"}
		readOnly  = fault{status: 403, code: "AuthorizationPermissionMismatch"}
		gone      = fault{status: 404, code: "BlobNotFound"}
		overload  = fault{status: 503, code: "ServerBusy", header: http.Header{"Retry-After": {"2"}}}
		immutable = fault{status: 409, code: "BlobImmutableDueToPolicy"}
		archived  = fault{status: 409, code: "BlobArchived"}
		disabled  = fault{status: 403, code: "AccountIsDisabled"}
		deleting  = fault{status: 409, code: "ContainerBeingDeleted"}
		half      = fault{status: 200} // not what was to be answered
		cut       = fault{err: errCut}
		cutYet    = fault{err: errCut, done: true}
	)
	for _, test := range []struct {
		op     string
		fail   func(*http.Request) fault
		what   string
		want   leasehold.Reason
		within time.Duration // zero: no time passes
		calls  []string      // nil: any
	}{
		{op: "status", what: "429 once", fail: onceFor("load", busyNow), within: 3 * time.Second, calls: []string{"load", "load"}},
		{op: "status", what: "429 for long", fail: alwaysFor("load", busyLong), want: leasehold.ReasonRateLimited, calls: []string{"load"}},
		{op: "acquire", what: "429 for long", fail: alwaysFor("acquire", busyLong), want: leasehold.ReasonRateLimited},
		{op: "renew", what: "429 once", fail: onceFor("renew", busyNow), within: 3 * time.Second, calls: []string{"renew", "renew", "store"}},
		{op: "acquire", what: "503 once at the lease", fail: onceFor("acquire", overload), within: 3 * time.Second, calls: []string{"load", "store", "acquire", "acquire"}},
		{op: "release", what: "503 once", fail: onceFor("store", overload), within: 3 * time.Second, calls: []string{"store", "store", "release"}},
		{op: "release", what: "503", fail: alwaysFor("store", overload), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "acquire", what: "immutable", fail: alwaysFor("store", immutable), want: leasehold.ReasonUnavailable, calls: []string{"load", "store"}},
		{op: "renew", what: "archived", fail: alwaysFor("store", archived), want: leasehold.ReasonUnavailable, calls: []string{"renew", "store"}},
		{op: "status", what: "account disabled", fail: alwaysFor("load", disabled), want: leasehold.ReasonForbidden, calls: []string{"load"}},
		{op: "acquire", what: "container being deleted", fail: alwaysFor("store", deleting), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "list", what: "half an answer", fail: onceFor("list", half), within: time.Second, calls: []string{"list", "list"}},
		{op: "list", what: "half answers", fail: alwaysFor("list", half), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "status", what: "500 once", fail: onceFor("load", broken), within: time.Second, calls: []string{"load", "load"}},
		{op: "status", what: "500", fail: alwaysFor("load", broken), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "list", what: "500 once", fail: onceFor("list", broken), within: time.Second},
		{op: "list", what: "500", fail: alwaysFor("list", broken), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "status", what: "timeout", fail: alwaysFor("load", timedOut), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "status", what: "404", fail: alwaysFor("load", gone)},
		{op: "renew", what: "404", fail: alwaysFor("renew", gone), want: leasehold.ReasonNotFound},
		{op: "release", what: "404", fail: alwaysFor("store", gone), want: leasehold.ReasonNotFound},

		{op: "acquire", what: "412 at the write", fail: onceFor("store", raced), within: time.Second},
		{op: "acquire", what: "412 at the lease", fail: onceFor("acquire", raced), within: time.Second},
		{op: "acquire", what: "409 at the lease", fail: onceFor("acquire", leased), within: time.Second},
		{op: "acquire", what: "412 for ever", fail: alwaysFor("acquire", raced), want: leasehold.ReasonUnavailable, within: 5 * time.Second},
		{op: "renew", what: "412 at the lease", fail: onceFor("renew", raced), calls: []string{"renew", "load", "renew", "store"}},
		{op: "renew", what: "412 at the write", fail: onceFor("store", raced), within: time.Second},
		{op: "release", what: "412", fail: onceFor("store", raced), within: time.Second},
		{op: "break", what: "412", fail: onceFor("break", raced)},
		{op: "break", what: "412 at the note", fail: onceFor("store break", raced)},

		{op: "acquire", what: "write lost", fail: onceFor("store", cut), within: time.Second},
		{op: "acquire", what: "write's answer lost", fail: onceFor("store", cutYet), within: time.Second},
		{op: "acquire", what: "lease lost", fail: onceFor("acquire", cut), within: time.Second},
		{op: "acquire", what: "lease's answer lost", fail: onceFor("acquire", cutYet), within: time.Second, calls: []string{"load", "store", "acquire", "load", "load"}},
		{op: "acquire", what: "500 though done", fail: onceFor("acquire", brokenYet), within: time.Second},
		{op: "acquire", what: "lease always lost", fail: alwaysFor("acquire", cut), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "acquire", what: "500 at the lease", fail: alwaysFor("acquire", broken), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "release", what: "500", fail: alwaysFor("store", broken), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "break", what: "500", fail: alwaysFor("break", timedOut), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "renew", what: "answer lost", fail: onceFor("renew", cutYet), within: time.Second, calls: []string{"renew", "renew", "store"}},
		{op: "renew", what: "write lost", fail: onceFor("store", cut), within: time.Second, calls: []string{"renew", "store", "load", "store"}},
		{op: "renew", what: "write's answer lost", fail: onceFor("store", cutYet), within: time.Second, calls: []string{"renew", "store", "load"}},
		{op: "renew", what: "always lost", fail: alwaysFor("renew", cut), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "renew", what: "write always lost", fail: alwaysFor("store", cut), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "retime", what: "answer lost", fail: onceFor("acquire", cutYet), want: leasehold.ReasonUnknown},
		{op: "again", what: "write's answer lost", fail: onceFor("store", cutYet), within: time.Second},
		{op: "release", what: "write lost", fail: onceFor("store", cut), within: time.Second},
		{op: "release", what: "write's answer lost", fail: onceFor("store", cutYet), within: time.Second, calls: []string{"store", "load", "release"}},
		{op: "release", what: "write always lost", fail: alwaysFor("store", cut), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "release", what: "lease lost", fail: onceFor("release", cut), calls: []string{"store", "release"}},
		{op: "break", what: "answer lost", fail: onceFor("break", cutYet), within: time.Second},
		{op: "break", what: "request lost", fail: onceFor("break", cut), within: time.Second},
		{op: "break", what: "note's answer lost", fail: onceFor("store break", cutYet), within: time.Second},
		{op: "break", what: "always lost", fail: alwaysFor("break", cut), want: leasehold.ReasonUnknown, within: 5 * time.Second},
		{op: "break", what: "429 for long after the note", fail: alwaysFor("break", busyLong), want: leasehold.ReasonUnknown},
		{op: "break", what: "429 for long at the note", fail: alwaysFor("store break", busyLong), want: leasehold.ReasonRateLimited},
		{op: "change", what: "answer lost", fail: onceFor("change", cutYet), within: time.Second},
		{op: "change", what: "always lost", fail: alwaysFor("change", cut), want: leasehold.ReasonUnknown, within: 5 * time.Second},

		{op: "status", what: "expired token", fail: alwaysFor("load", oldToken), want: leasehold.ReasonUnauthenticated, calls: []string{"load"}},
		{op: "acquire", what: "expired token at the lease", fail: alwaysFor("acquire", oldToken), want: leasehold.ReasonUnauthenticated},
		{op: "status", what: "bad key", fail: alwaysFor("load", badKey), want: leasehold.ReasonUnauthenticated, calls: []string{"load"}},
		{op: "acquire", what: "read only", fail: alwaysFor("store", readOnly), want: leasehold.ReasonForbidden, calls: []string{"load", "store"}},
		{op: "break", what: "read only", fail: alwaysFor("store break", readOnly), want: leasehold.ReasonForbidden},
	} {
		t.Run(test.op+"/"+test.what, func(t *testing.T) {
			inScene(t, func(s *scene) {
				s.faults.set(test.fail)
				start := time.Now()
				err := operations[test.op](s)
				s.wantReason(test.op, err, test.want)
				if took := time.Since(start); took > test.within {
					t.Errorf("it took %v, want at most %v", took, test.within)
				}
				if got := s.faults.calls(); test.calls != nil && !slices.Equal(got, test.calls) {
					t.Errorf("calls = %q, want %q", got, test.calls)
				}
				s.faults.set(nil)
				s.wantWhole()
			})
		})
	}
}

// wantWhole expects, after the storm, that each resource can be leased with a
// larger token.
func (s *scene) wantWhole() {
	s.Helper()
	time.Sleep(longest + 2*time.Second)
	g := s.acquired("r", leasehold.ID{})
	if g.Token <= s.lease.Token {
		s.Errorf("token %d after %d", g.Token, s.lease.Token)
	}
	if _, err := s.other.Release(s.Context(), leasehold.ReleaseRequest{Resource: "r", ID: g.ID, Token: g.Token}); err != nil {
		s.Errorf("Release elsewhere = %v, want success", err)
	}
}

// TestNoAnswer lets calls hang.
func TestNoAnswer(t *testing.T) {
	for op, want := range map[string]struct {
		call   string
		reason leasehold.Reason
	}{
		"status":  {"load", leasehold.ReasonUnavailable},
		"acquire": {"acquire", leasehold.ReasonUnknown},
		"renew":   {"renew", leasehold.ReasonUnknown},
		"release": {"store", leasehold.ReasonUnknown},
		"break":   {"break", leasehold.ReasonUnknown},
		"change":  {"change", leasehold.ReasonUnknown},
		"list":    {"list", leasehold.ReasonUnavailable},
	} {
		t.Run(op, func(t *testing.T) {
			inScene(t, func(s *scene) {
				s.faults.set(func(r *http.Request) fault {
					if callOf(r) != want.call {
						return fault{}
					}
					return fault{before: func() { <-r.Context().Done() }, err: errCut}
				})
				start := time.Now()
				err := operations[op](s)
				s.wantReason(op, err, want.reason)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("it took %v, want less than 5s", took)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s = %v, want it to wrap context.DeadlineExceeded", op, err)
				}
				s.faults.set(nil)
				s.wantWhole()
			})
		})
	}
}

// TestLateRenewal holds a renewal back until the lease has ended. The service would
// revive it.
func TestLateRenewal(t *testing.T) {
	for _, op := range []string{"renew", "retime", "again"} {
		t.Run(op, func(t *testing.T) {
			inScene(t, func(s *scene) {
				time.Sleep(longest - 3*time.Second)
				call := map[string]string{"renew": "renew", "retime": "acquire", "again": "renew"}[op]
				s.faults.set(onceFor(call, fault{before: func() { time.Sleep(3 * time.Second) }}))
				err := operations[op](s)
				s.faults.set(nil)
				if op == "again" { // then the id is unknown, and the request is new
					s.wantReason(op, err, "")
					return
				}
				s.wantReason(op, err, leasehold.ReasonExpired)
				if st, err := s.other.Status(s.Context(), "r"); err != nil || st.Locked() {
					t.Errorf("Status = %+v, %v; want free", st.Lease, err)
				}
				if g := s.acquired("r", leasehold.ID{}); g.Token <= s.lease.Token {
					t.Errorf("token %d after %d", g.Token, s.lease.Token)
				}
			})
		})
	}
}

// TestLastSeconds: what may have ended is not renewed. The service's times are
// whole seconds.
func TestLastSeconds(t *testing.T) {
	inScene(t, func(s *scene) {
		time.Sleep(time.Second / 2)
		g := s.acquired("half", leasehold.ID{})
		time.Sleep(longest - time.Second/4)
		if st, err := s.other.Status(s.Context(), "half"); err != nil || !st.Check(g.Token) {
			t.Errorf("Status = %+v, %v; want it held", st.Lease, err)
		}
		_, err := s.Renew(s.Context(), leasehold.RenewRequest{Resource: "half", ID: g.ID})
		s.wantReason("Renew", err, leasehold.ReasonExpired)
		if st, err := s.other.Status(s.Context(), "half"); err != nil || st.Locked() {
			t.Errorf("Status = %+v, %v; want free", st.Lease, err)
		}
	})
}

// TestBreakDuringRenewal breaks a lease between the calls of a renewal for another
// time, which is an acquire to the service.
func TestBreakDuringRenewal(t *testing.T) {
	inScene(t, func(s *scene) {
		s.faults.set(onceFor("acquire", fault{before: func() {
			if _, err := s.other.Break(s.Context(), leasehold.BreakRequest{Resource: "r"}); err != nil {
				t.Errorf("Break = %v, want success", err)
			}
		}}))
		s.wantReason("renew", operations["retime"](s), leasehold.ReasonNotFound)
		if st, err := s.other.Status(s.Context(), "r"); err != nil || st.Locked() {
			t.Errorf("Status = %+v, %v; want free", st.Lease, err)
		}
	})
}

// TestReleaseCutOff: the client dies between the two calls of a release. The next
// one does not wait for the service's lease, and neither does a look.
func TestReleaseCutOff(t *testing.T) {
	inScene(t, func(s *scene) {
		s.faults.set(alwaysFor("release", fault{err: errCut}))
		s.wantReason("release", operations["release"](s), "")
		if st, err := s.other.Status(s.Context(), "r"); err != nil || st.Locked() {
			t.Errorf("Status = %+v, %v; want free", st.Lease, err)
		}
		if page, err := s.other.List(s.Context(), leasehold.ListRequest{}); err != nil || len(page.Leases) != 0 {
			t.Errorf("List = %+v, %v; want nothing", page, err)
		}
		g, err := s.other.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "next", TTL: longest})
		if err != nil || g.Token <= s.lease.Token {
			t.Errorf("Acquire = token %d, %v; want one above %d", g.Token, err, s.lease.Token)
		}
	})
}

// TestAcquireCutOff: the client dies after the write, and after the lease call.
func TestAcquireCutOff(t *testing.T) {
	inScene(t, func(s *scene) {
		ctx, cancel := context.WithCancel(s.Context())
		s.faults.set(onceFor("acquire", fault{before: cancel, err: errCut}))
		_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "free", Holder: "h", TTL: leasehold.Infinite})
		if !errors.Is(err, leasehold.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire = %v, want ErrUnknown that wraps context.Canceled", err)
		}
		synctest.Wait()
		s.faults.set(nil)
		first := s.acquired("free", leasehold.ID{})

		ctx, cancel = context.WithCancel(s.Context())
		s.faults.set(onceFor("acquire", fault{done: true, err: errCut, before: func() {
			time.AfterFunc(0, cancel)
		}}))
		_, err = s.Acquire(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "h", TTL: leasehold.Infinite})
		if err != nil && !errors.Is(err, leasehold.ErrUnknown) {
			t.Errorf("Acquire = %v, want ErrUnknown", err)
		}
		if first.Token == 0 {
			t.Error("a grant without a token")
		}
	})
}

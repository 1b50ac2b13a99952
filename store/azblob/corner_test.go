package azblob_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// large is metadata that does not fit into a blob's, and is kept as its content.
func large() map[string]string {
	m := map[string]string{}
	for i := range 7 {
		m[fmt.Sprint("k", i)] = strings.Repeat("é", 500)
	}
	return m
}

// TestLargeMetadata lists, filters and renews leases whose pairs are content.
func TestLargeMetadata(t *testing.T) {
	inScene(t, func(s *scene) {
		ctx := s.Context()
		g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "big", Holder: "h", TTL: longest, Metadata: large()})
		if err != nil || len(g.Metadata) != 7 {
			t.Fatalf("Acquire = %d pairs, %v; want 7", len(g.Metadata), err)
		}
		if l, err := s.other.Renew(ctx, leasehold.RenewRequest{Resource: "big", ID: g.ID}); err != nil || len(l.Metadata) != 7 {
			t.Errorf("Renew = %d pairs, %v; want 7", len(l.Metadata), err)
		}
		for filter, want := range map[string]int{strings.Repeat("é", 500): 1, "x": 0} {
			page, err := s.other.List(ctx, leasehold.ListRequest{Prefix: "b", Metadata: map[string]string{"k1": filter}})
			if err != nil || len(page.Leases) != want {
				t.Errorf("List = %d leases, %v; want %d", len(page.Leases), err, want)
			}
		}
		s.faults.set(onceFor("content", fault{status: 412, code: "ConditionNotMet"}))
		if st, err := s.Status(ctx, "big"); err != nil || len(st.Lease.Metadata) != 7 {
			t.Errorf("Status of a blob that changes meanwhile = %v, want the lease", err)
		}
		s.faults.set(alwaysFor("content", fault{status: 500}))
		if _, err := s.List(ctx, leasehold.ListRequest{Prefix: "b"}); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("List without the content = %v, want ErrUnavailable", err)
		}
		s.faults.set(alwaysFor("load", fault{status: 404, code: "BlobNotFound"}))
		if page, err := s.List(ctx, leasehold.ListRequest{Prefix: "b"}); err != nil || len(page.Leases) != 0 {
			t.Errorf("List of a blob that is gone = %+v, %v; want nothing", page, err)
		}
		s.faults.set(nil)
		if l, err := s.Release(ctx, leasehold.ReleaseRequest{Resource: "big", ID: g.ID}); err != nil || len(l.Metadata) != 7 {
			t.Errorf("Release = %d pairs, %v; want 7", len(l.Metadata), err)
		}
	})
}

// TestTooLongNames: nobody can have leased them.
func TestTooLongNames(t *testing.T) {
	inScene(t, func(s *scene) {
		ctx, name := s.Context(), strings.Repeat("x", 1000)
		if st, err := s.Status(ctx, name); err != nil || st.Locked() {
			t.Errorf("Status = %+v, %v; want free", st, err)
		}
		_, renew := s.Renew(ctx, leasehold.RenewRequest{Resource: name, ID: s.lease.ID})
		_, breaks := s.Break(ctx, leasehold.BreakRequest{Resource: name})
		for call, err := range map[string]error{"Renew": renew, "Break": breaks} {
			s.wantReason(call, err, leasehold.ReasonNotFound)
		}
		_, err := s.Renew(ctx, leasehold.RenewRequest{ID: s.lease.ID})
		s.wantReason("Renew by id alone", err, leasehold.ReasonUnsupported)
		if _, err := s.Store.Cleanup(ctx); err != nil {
			t.Errorf("Cleanup = %v, want success", err)
		}
	})
}

// TestBusyResource: calls on a resource that another call holds up end with their
// context.
func TestBusyResource(t *testing.T) {
	inScene(t, func(s *scene) {
		go func() { _ = operations["renew"](s) }()
		s.faults.set(onceFor("renew", fault{before: func() { time.Sleep(3 * time.Second) }}))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		_, acquire := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "x", TTL: longest})
		_, release := s.Release(ctx, leasehold.ReleaseRequest{Resource: "r", ID: s.lease.ID})
		_, breaks := s.Break(ctx, leasehold.BreakRequest{Resource: "r"})
		for call, err := range map[string]error{"Acquire": acquire, "Release": release, "Break": breaks} {
			if !errors.Is(err, leasehold.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s = %v, want ErrUnavailable that wraps context.DeadlineExceeded", call, err)
			}
		}
		time.Sleep(3 * time.Second)
	})
}

// TestRacesDuringCalls lets another process act between two calls of an operation.
func TestRacesDuringCalls(t *testing.T) {
	for what, test := range map[string]struct {
		op, at    string
		meanwhile string
		lost      bool // the answer to that call
		want      leasehold.Reason
	}{
		"release, broken first":             {op: "release", at: "store", meanwhile: "break", want: leasehold.ReasonNotFound},
		"release, broken first, and lost":   {op: "release", at: "store", meanwhile: "break", lost: true, want: leasehold.ReasonNotFound},
		"release, leased again, and lost":   {op: "release", at: "store", meanwhile: "take", lost: true, want: leasehold.ReasonUnknown},
		"renew, broken first":               {op: "renew", at: "renew", meanwhile: "break", want: leasehold.ReasonNotFound},
		"renew, broken before it is noted":  {op: "renew", at: "store", meanwhile: "break", want: leasehold.ReasonNotFound},
		"renew, broken slowly":              {op: "renew", at: "renew", meanwhile: "break slowly", want: leasehold.ReasonBreaking},
		"renew, renewed elsewhere":          {op: "renew", at: "renew", meanwhile: "renew"},
		"renew, renewed before it is noted": {op: "renew", at: "store", meanwhile: "renew"},
		"release, renewed elsewhere":        {op: "release", at: "store", meanwhile: "renew"},
		"change, broken slowly":             {op: "change", at: "change", meanwhile: "break slowly", want: leasehold.ReasonBreaking},
		"retime, broken slowly":             {op: "retime", at: "acquire", meanwhile: "break slowly", want: leasehold.ReasonBreaking},
		"again, broken first":               {op: "again", at: "renew", meanwhile: "break"},
		"break, released first":             {op: "break", at: "break", meanwhile: "release", want: leasehold.ReasonNotFound},
		"break, released and leased again":  {op: "break", at: "break", meanwhile: "take", want: leasehold.ReasonUnknown},
		"break, broken at the same time":    {op: "break", at: "store break", meanwhile: "break", want: leasehold.ReasonNotFound},
		"break, carried out by another":     {op: "break", at: "break", meanwhile: "break"},
		"break, by another, note lost":      {op: "break", at: "load break", meanwhile: "break", want: leasehold.ReasonNotFound},
	} {
		t.Run(what, func(t *testing.T) {
			inScene(t, func(s *scene) {
				x := fault{before: func() { s.meanwhile(test.meanwhile) }}
				if test.lost {
					x.err = errCut
				}
				s.faults.set(onceFor(test.at, x))
				s.wantReason(test.op, operations[test.op](s), test.want)
				s.faults.set(nil)
				s.wantWhole()
			})
		})
	}
}

// TestSlowAnswers: the time that an answer takes is not promised to the holder.
func TestSlowAnswers(t *testing.T) {
	for _, ttl := range []time.Duration{longest, shortest} {
		inScene(t, func(s *scene) {
			slow := func(call string) {
				s.faults.set(onceFor(call, fault{after: func() { time.Sleep(2 * time.Second) }}))
			}
			slow("acquire")
			g, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "slow", Holder: "h", TTL: longest})
			if err != nil || g.Remaining > longest-2*time.Second {
				t.Errorf("Acquire leaves %v, %v; want at most %v", g.Remaining, err, longest-2*time.Second)
			}
			slow(map[time.Duration]string{longest: "renew", shortest: "acquire"}[ttl])
			l, err := s.Renew(s.Context(), leasehold.RenewRequest{Resource: "slow", ID: g.ID, TTL: ttl})
			if err != nil || l.Remaining > ttl-2*time.Second {
				t.Errorf("Renew leaves %v, %v; want at most %v", l.Remaining, err, ttl-2*time.Second)
			}
			period := 5 * time.Second
			slow("break")
			b, err := s.Break(s.Context(), leasehold.BreakRequest{Resource: "slow", Period: &period})
			if err != nil || b.Remaining > 3*time.Second {
				t.Errorf("Break leaves %v, %v; want at most 3s", b.Remaining, err)
			}
		})
	}
}

// TestAboutToBeLeased: whoever comes between the two calls of an acquire lets it
// end, and does not make it fail; but one that never ends is passed over.
func TestAboutToBeLeased(t *testing.T) {
	inScene(t, func(s *scene) {
		late := make(chan error, 1)
		s.faults.set(onceFor("acquire", fault{before: func() {
			go func() {
				_, err := s.other.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "free", Holder: "late", TTL: longest})
				late <- err
			}()
			time.Sleep(10 * time.Millisecond)
		}}))
		s.wantReason("acquire", operations["acquire"](s), "")
		s.wantReason("acquire, second", <-late, leasehold.ReasonHeld)

		var never lateCall
		s.faults.set(onceFor("acquire", fault{late: &never, before: func() {
			if _, err := s.other.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "other", Holder: "late", TTL: longest}); err != nil {
				s.Errorf("Acquire where another is cut off = %v, want a grant", err)
			}
		}}))
		_, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "other", Holder: "h", TTL: longest})
		s.wantReason("acquire, cut off", err, leasehold.ReasonUnknown)
	})
}

// meanwhile does what another process does.
func (s *scene) meanwhile(what string) {
	ctx := s.Context()
	var err error
	switch what {
	case "break":
		_, err = s.other.Break(ctx, leasehold.BreakRequest{Resource: "r"})
		if errors.Is(err, leasehold.ErrNotFound) { // another had announced it
			err = nil
		}
	case "break slowly":
		period := 10 * time.Second
		_, err = s.other.Break(ctx, leasehold.BreakRequest{Resource: "r", Period: &period})
	case "renew":
		_, err = s.other.Renew(ctx, leasehold.RenewRequest{Resource: "r", ID: s.lease.ID})
	case "release", "take":
		_, err = s.other.Release(ctx, leasehold.ReleaseRequest{Resource: "r", ID: s.lease.ID})
	}
	if err == nil && what == "take" {
		_, err = s.other.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "other", TTL: shortest})
	}
	if err != nil {
		s.Errorf("meanwhile, %s = %v, want success", what, err)
	}
}

// TestAnswersWithoutDetails: a service, or what stands before it, that says little.
func TestAnswersWithoutDetails(t *testing.T) {
	for _, test := range []struct {
		op   string
		fail fault
		want leasehold.Reason
	}{
		{"status", fault{status: 401}, leasehold.ReasonUnauthenticated},
		{"status", fault{status: 403}, leasehold.ReasonForbidden},
		{"status", fault{status: 404}, ""},
		{"status", fault{status: 408}, leasehold.ReasonUnavailable},
		{"status", fault{status: 418}, leasehold.ReasonUnavailable},
		{"status", fault{status: 503, header: http.Header{"Retry-After": {"soon"}, "Date": {"today"}}}, leasehold.ReasonUnavailable},
		{"status", fault{status: 429, header: http.Header{"X-Ms-Retry-After-Ms": {"60000"}}}, leasehold.ReasonRateLimited},
	} {
		inScene(t, func(s *scene) {
			s.faults.set(alwaysFor("load", test.fail))
			s.wantReason(fmt.Sprint(test.op, " with ", test.fail.status), operations[test.op](s), test.want)
		})
	}
}

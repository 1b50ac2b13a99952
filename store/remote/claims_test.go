package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

// A lease of several is the same here as in the store behind the server, from its
// grant to its end.
func TestClaims(t *testing.T) {
	store := inside(t)
	s := overPipes(t, serving(t, store))
	ctx := t.Context()
	r := claims()
	r.ID, r.Metadata = leasehold.NewID(), map[string]string{"branch": "main"}
	g := must(s.Acquire(ctx, r))(t)
	if !strings.HasPrefix(g.Resource, leasehold.SetPrefix) || g.ID != r.ID || !slices.Equal(g.Claims, r.Claims) || g.Metadata["branch"] != "main" {
		t.Errorf("Acquire = %+v, want the claims in their order", g)
	}
	if again := must(s.Acquire(ctx, r))(t); !again.Idempotent || again.Token != g.Token || again.Resource != g.Resource {
		t.Errorf("Acquire again = %+v, want the same lease", again)
	}
	r.Claims[0].Mode = leasehold.Shared
	shared := must(s.Acquire(ctx, r))(t)
	if shared.Idempotent || shared.Token <= g.Token || shared.Resource != g.Resource || !slices.Equal(shared.Claims, r.Claims) {
		t.Errorf("Acquire in another mode = %+v, want a new token for %s", shared, g.Resource)
	}
	other := must(s.Acquire(ctx, leasehold.AcquireRequest{Claims: []leasehold.Claim{{Pattern: "go.mod", Mode: leasehold.Shared}}, Holder: "other"}))(t)

	for _, name := range []string{"go.mod", g.Resource} {
		compare(t, "Status of "+name, must(s.Status(ctx, name))(t), must(store.Status(ctx, name))(t))
	}
	if all := must(s.Status(ctx, "go.mod"))(t).Leases; len(all) != 2 || all[0].Token != shared.Token || all[1].Token != other.Token {
		t.Errorf("Status = %+v, want both holders", all)
	}
	for _, r := range []leasehold.ListRequest{
		{}, {Resource: "go.mod"}, {Namespace: "repo"}, {Namespace: "repo", Path: "src/a/**"}, {Namespace: "repo", Path: "docs"}, {Namespace: "other"},
	} {
		compare(t, fmt.Sprintf("List(%+v)", r), must(s.List(ctx, r))(t), must(store.(leasehold.Lister).List(ctx, r))(t))
	}
	compare(t, "Find", must(s.Find(ctx, r.ID))(t), must(store.(leasehold.Finder).Find(ctx, r.ID))(t))

	must(s.Renew(ctx, leasehold.RenewRequest{ID: r.ID, Resource: g.Resource, Holder: "h", Token: shared.Token}))(t)
	changed := must(s.Change(ctx, leasehold.ChangeRequest{ID: r.ID, Proposed: leasehold.NewID()}))(t)
	moved := must(s.Transfer(ctx, leasehold.TransferRequest{ID: changed.ID, To: "next", Note: "half done"}))(t)
	if note := (leasehold.Note{From: "h", Text: "half done"}); !slices.Equal(moved.Notes, []leasehold.Note{note}) || !slices.Equal(moved.Claims, r.Claims) {
		t.Errorf("Transfer = %+v, want the claims and the note", moved)
	}
	ended := must(s.Release(ctx, leasehold.ReleaseRequest{ID: moved.ID, Note: "see \"log\"\n"}))(t)
	if ended.State != leasehold.StateReleased || !slices.Equal(ended.Claims, r.Claims) {
		t.Errorf("Release = %+v, want the lease as it ended", ended)
	}
	next := must(s.Acquire(ctx, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "src/auth/*"), Holder: "n2"}))(t)
	if note := (leasehold.Note{From: "next", Text: "see \"log\"\n"}); !slices.Equal(next.Notes, []leasehold.Note{note}) {
		t.Errorf("Acquire = %+v, want the note of the holder before", next)
	}
	broken := must(s.Break(ctx, leasehold.BreakRequest{Resource: next.Resource}))(t)
	if broken.Resource != next.Resource || broken.State != leasehold.StateBroken || !slices.Equal(broken.Claims, next.Claims) {
		t.Errorf("Break = %+v, want %s broken", broken, next.Resource)
	}
}

// compare compares an answer with that of the store behind the server. Notes are for
// the owner.
func compare[T any](t *testing.T, name string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(leasehold.Lease{}, "Remaining", "Notes"), cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(time.Second)); diff != "" {
		t.Errorf("%s differs from the store's (-store +client):\n%s", name, diff)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%T = %v, want success", v, err)
		}
		return v
	}
}

// Refusals are those of the store: where the claims meet, for whom it is kept, who
// waits for whom.
func TestClaimsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := inside(t)
		s := overPipes(t, serving(t, store))
		ctx := t.Context()
		must(s.Acquire(ctx, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "src/**"), Holder: "a", Sequence: true}))(t)
		must(s.Acquire(ctx, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "docs"), Holder: "b", Sequence: true}))(t)

		requests := map[string]leasehold.AcquireRequest{
			"overlap":  {Claims: leasehold.Paths("repo", "*/auth"), Holder: "c"},
			"reserved": {Claims: leasehold.Paths("repo", "x"), Holder: "c"},
		}
		waiting, leave := context.WithCancel(ctx)
		done := make(chan error)
		go func() {
			_, err := s.Wait(waiting, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "docs", "x"), Holder: "a", Sequence: true, Timeout: time.Hour})
			done <- err
		}()
		synctest.Wait()
		for name, r := range requests {
			_, err := s.Acquire(ctx, r)
			got := typed(t, name, err, leasehold.ReasonHeld)
			_, err = store.Acquire(ctx, r)
			want := typed(t, name, err, leasehold.ReasonHeld)
			compare(t, name, got, want)
			if got.Overlap == nil || (got.Reserved == "a") != (name == "reserved") || got.Current == nil || len(got.Current.Claims) != 1 {
				t.Errorf("%s: %+v, want the overlap, the lease in the way and for whom it is kept", name, got)
			}
		}
		_, err := s.Wait(ctx, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "src/x"), Holder: "b", Sequence: true, Timeout: time.Hour})
		e := typed(t, "Wait in a cycle", err, leasehold.ReasonDeadlock)
		want := []leasehold.WaitEdge{
			{Holder: "b", Claim: leasehold.Claim{Namespace: "repo", Pattern: "src/x"}, HeldBy: "a"},
			{Holder: "a", Claim: leasehold.Claim{Namespace: "repo", Pattern: "docs"}, HeldBy: "b"},
		}
		if diff := cmp.Diff(want, e.Cycle); diff != "" {
			t.Errorf("Wait = %v, the cycle differs (-want +got):\n%s", err, diff)
		}
		leave()
		typed(t, "the first wait", <-done, leasehold.ReasonCancelled)
	})
}

// An abandoned wait for several leaves neither a place nor a lease, though the client
// never learns the lease's name. A grant that comes too late is released.
func TestAbandonedWaitForClaims(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("granted=", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { abandonClaims(t, late) })
		})
	}
}

func abandonClaims(t *testing.T, late bool) {
	api := &requestLog{Handler: served(t)}
	s := overPipes(t, api)
	held := must(s.Acquire(t.Context(), claims()))(t)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error)
	r := claims()
	r.Holder, r.Timeout = "w", leasehold.NoTimeout
	go func() {
		_, err := s.Wait(ctx, r)
		done <- err
	}()
	synctest.Wait()
	if late { // the grant and the departure meet
		go leave()
		must(s.Release(t.Context(), leasehold.ReleaseRequest{ID: held.ID}))(t)
	} else {
		leave()
	}
	if err := <-done; err != nil {
		typed(t, "Wait", err, leasehold.ReasonCancelled)
	}
	if !late {
		must(s.Release(t.Context(), leasehold.ReleaseRequest{ID: held.ID}))(t)
	}
	time.Sleep(time.Second) // in the bubble: what was under way ends
	live := must(s.List(t.Context(), leasehold.ListRequest{Holder: "w"}))(t)
	status := must(s.Status(t.Context(), "go.mod"))(t)
	if len(live.Leases) != 0 || len(status.Waiters) != 0 {
		t.Errorf("after the wait: %+v, %+v; want no lease and no waiter", live, status)
	}
	if !slices.ContainsFunc(api.seen, func(line string) bool {
		return strings.HasPrefix(line, "/v1/leases/release") && strings.HasSuffix(line, "abandoned\n")
	}) {
		t.Errorf("the server was asked %q, want a release by the id", api.seen)
	}
}

// A grant of several whose answer was lost is released by its id alone.
func TestLostWaitForClaimsIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := served(t)
		var once sync.Once
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			api.ServeHTTP(&brokenWriter{ResponseWriter: w, broken: func() { once.Do(func() { sever(w) }) }}, r)
		}))
		_, err := s.Wait(t.Context(), claims())
		typed(t, "Wait", err, leasehold.ReasonUnknown)
		time.Sleep(time.Second)
		history, err := s.History(t.Context(), leasehold.HistoryRequest{Kind: leasehold.KindReleased})
		if err != nil || len(history.Records) != 1 || history.Records[0].Why != "abandoned" || !strings.HasPrefix(history.Records[0].Resource, leasehold.SetPrefix) {
			t.Errorf("History = %+v, %v; want one release of a set, abandoned", history, err)
		}
	})
}

// The place of a caller's id is resumed after a lost connection.
func TestWaitForClaimsResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := served(t)
		requests := 0
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests++; requests == 2 { // the wait: its connection breaks after a second
				ctx, cancel := context.WithTimeout(r.Context(), time.Second)
				defer cancel()
				api.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
				sever(w)
			}
			api.ServeHTTP(w, r)
		}))
		held := must(s.Acquire(t.Context(), claims()))(t)
		time.AfterFunc(5*time.Second, func() {
			if _, err := s.Release(context.WithoutCancel(t.Context()), leasehold.ReleaseRequest{ID: held.ID}); err != nil {
				t.Errorf("Release = %v", err)
			}
		})
		r := claims()
		r.Holder, r.ID, r.Timeout = "w", leasehold.NewID(), time.Minute
		g := must(s.Wait(t.Context(), r))(t)
		if g.ID != r.ID || !slices.Equal(g.Claims, r.Claims) || g.Waited < 5*time.Second || g.Waited > 6*time.Second {
			t.Errorf("Wait = %+v, want the lease after 5 s", g)
		}
	})
}

// Sets in batches are answered like any other.
func TestClaimsInBatches(t *testing.T) {
	s := overPipes(t, served(t))
	remote.AlwaysBatch(s)
	errs := make(chan error)
	for i := range 20 {
		go func() {
			g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Claims: leasehold.Paths("repo", fmt.Sprintf("dir%d/**", i/2)), Holder: fmt.Sprint("h", i)})
			if err == nil && g.Claims[0].Pattern != fmt.Sprintf("dir%d/**", i/2) {
				err = fmt.Errorf("granted %+v", g)
			}
			errs <- err
		}()
	}
	granted := 0
	for range 20 {
		err := <-errs
		var e *leasehold.Error
		switch {
		case err == nil:
			granted++
		case !errors.As(err, &e) || e.Reason != leasehold.ReasonHeld || e.Overlap == nil:
			t.Errorf("Acquire = %v, want a grant or the overlap", err)
		}
	}
	if granted != 10 {
		t.Errorf("%d were granted, want one of each pair", granted)
	}
}

// A server that does not know a field is older than what was requested: it cannot do
// it, and has done nothing.
func TestClaimsAtAnOlderServer(t *testing.T) {
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		problem := "is no field of this call; it takes resource, holder"
		if r.Method == http.MethodGet {
			problem = "is no parameter of this call; it takes resource"
		}
		answer(w, http.StatusBadRequest, wire.FromError(&leasehold.Error{Reason: leasehold.ReasonInvalid, Field: "claims", Problem: problem}))
	})
	_, err := s.Acquire(t.Context(), claims())
	typed(t, "Acquire", err, leasehold.ReasonUnsupported)
	_, err = s.Wait(t.Context(), claims())
	typed(t, "Wait", err, leasehold.ReasonUnsupported)
	_, err = s.List(t.Context(), leasehold.ListRequest{Namespace: "repo"})
	typed(t, "List", err, leasehold.ReasonUnsupported)
}

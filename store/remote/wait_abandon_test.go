package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

// requestLog is a server that records the requests about leases.
type requestLog struct {
	http.Handler
	mu   sync.Mutex
	seen []string
}

func (r *requestLog) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		wire.AcquireRequest
		Reason string
	}
	_ = json.Unmarshal(body, &in)
	timeout := int64(0)
	if in.TimeoutMS != nil {
		timeout = *in.TimeoutMS
	}
	if req.Method == http.MethodPost {
		r.mu.Lock()
		r.seen = append(r.seen, fmt.Sprintln(req.URL.Path, in.Holder, in.LeaseID, timeout, in.Reason))
		r.mu.Unlock()
	}
	r.Handler.ServeHTTP(w, req)
}

// An abandoned wait leaves neither a place nor a lease if the client made the id.
// A caller's id keeps its place and is never released.
func TestAbandonedWait(t *testing.T) {
	for name, over := range map[string]func(testing.TB, http.Handler) *remote.Store{"OwnConnections": overPipes, "HTTPClient": byClient} {
		for _, proposed := range []leasehold.ID{{}, leasehold.NewID()} {
			t.Run(fmt.Sprint(name, "/proposed=", !proposed.IsZero()), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { abandonWait(t, over, proposed) })
			})
		}
	}
}

func abandonWait(t *testing.T, over func(testing.TB, http.Handler) *remote.Store, proposed leasehold.ID) {
	api := &requestLog{Handler: served(t)}
	s := over(t, api)
	held, err := s.Acquire(t.Context(), request())
	if err != nil {
		t.Fatalf("Acquire = %v, want a grant", err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, enough)
	defer cancel()
	began := time.Now()
	_, err = s.Wait(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "w", ID: proposed, Timeout: leasehold.NoTimeout})
	if e := typed(t, "Wait", err, leasehold.ReasonCancelled); !errors.Is(err, enough) || e.Waited < time.Minute {
		t.Errorf("Wait = %+v, want the context's cause and the time", e)
	}
	if late := time.Since(began) - time.Minute; late > 10*time.Millisecond {
		t.Errorf("Wait ended %v after its context", late)
	}
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: held.ID, Resource: "r"}); err != nil {
		t.Fatalf("Release = %v, want success", err)
	}
	status, err := s.Status(t.Context(), "r")
	if err != nil || status.Locked() || len(status.Waiters) != 0 {
		t.Errorf("Status = %+v, %v; want nobody there", status, err)
	}
	want := []string{"/v1/leases/acquire w %s 86400000 \n", "/v1/leases/acquire w %s 1 \n", "/v1/leases/release  %s 0 abandoned\n"}
	if !proposed.IsZero() {
		want = want[:2]
	}
	var id string
	_, _ = fmt.Sscanf(api.seen[1], "/v1/leases/acquire w %s", &id)
	for i := range want {
		want[i] = fmt.Sprintf(want[i], id)
	}
	if got := api.seen[1 : len(api.seen)-1]; !slices.Equal(got, want) || !proposed.IsZero() && id != proposed.Reveal() {
		t.Errorf("the server was asked %q, want %q", got, want)
	}
}

// A wait that lost its connection, with an id of the client's, is abandoned, and
// what it may have been granted is released.
func TestLostWaitIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := served(t)
		var once sync.Once
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			api.ServeHTTP(&brokenWriter{ResponseWriter: w, broken: func() { once.Do(func() { sever(w) }) }}, r)
		}))
		_, err := s.Wait(t.Context(), request())
		typed(t, "Wait", err, leasehold.ReasonUnknown)
		time.Sleep(time.Second)
		history, err := s.History(t.Context(), leasehold.HistoryRequest{Kind: leasehold.KindReleased})
		if err != nil || len(history.Records) != 1 || history.Records[0].Why != "abandoned" {
			t.Errorf("History = %+v, %v; want one release, abandoned", history, err)
		}
	})
}

// brokenWriter breaks the connection instead of writing the first answer.
type brokenWriter struct {
	http.ResponseWriter
	broken func()
}

func (d *brokenWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *brokenWriter) Write(p []byte) (int, error) {
	d.broken()
	return d.ResponseWriter.Write(p)
}

// At a server that accepts no more waiters, closing the connection ends the wait.
func TestAbandonedWaitAtAFullServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting atomic.Int32
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/leases/release" {
				refuse(w, &leasehold.Error{Reason: leasehold.ReasonNotFound})
				return
			}
			in := decodeAcquire(t, r)
			switch {
			case waiting.Add(1) > 1:
				refuse(w, &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: time.Second})
			case *in.TimeoutMS == 1:
				refuse(w, &leasehold.Error{Reason: leasehold.ReasonTimeout})
			default:
				<-r.Context().Done()
			}
			waiting.Add(-1)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		r := request()
		r.Timeout = leasehold.NoTimeout
		_, err := s.Wait(ctx, r)
		typed(t, "Wait", err, leasehold.ReasonCancelled)
		if late := time.Since(began) - time.Minute; late > 100*time.Millisecond || waiting.Load() != 0 {
			t.Errorf("Wait ended %v after its context, and %d wait", late, waiting.Load())
		}
	})
}

// Callers that leave at random moments leave no lease, and their errors are true:
// what was not sent has not happened.
func TestAbandonAtRandom(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		inside := inside(t)
		server := httptest.NewServer(serving(t, inside))
		t.Cleanup(server.Close)
		abandonAtRandom(t, inside, open(t, server.URL, o()))
	})
	t.Run("HTTP2", func(t *testing.T) {
		t.Parallel()
		inside := inside(t)
		server := httptest.NewUnstartedServer(serving(t, inside))
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		abandonAtRandom(t, inside, open(t, server.URL, &remote.Options{HTTPClient: server.Client()}))
	})
}

func abandonAtRandom(t *testing.T, inside leasehold.Store, s *remote.Store) {
	var running sync.WaitGroup
	var told [16]map[leasehold.Reason][]string // holders
	for worker := range told {
		told[worker] = map[leasehold.Reason][]string{}
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for i := range 100 {
				holder := fmt.Sprint(worker, "-", i)
				g, err := acquireBriefly(t.Context(), s, random, holder)
				reason := leasehold.ReasonOf(err)
				told[worker][reason] = append(told[worker][reason], holder)
				if err != nil {
					continue
				}
				if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
					t.Errorf("Release = %v, want success", err)
				}
			}
		})
	}
	running.Wait()
	remote.AwaitIdle(s) // Close would give up on a busy machine
	for deadline := time.Now().Add(30 * time.Second); locked(t, inside) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // real sockets: the server notices later who has left
	}
	_ = s.Close()
	if n := locked(t, inside); n > 0 {
		t.Errorf("%d leases are left that nobody knows of", n)
	}
	granted := grantees(t, inside)
	for _, told := range told {
		for _, holder := range told[leasehold.ReasonUnavailable] {
			if granted[holder] {
				t.Errorf("%s was told that nothing happened, and was granted a lease", holder)
			}
		}
		for reason := range told {
			switch reason {
			case "", leasehold.ReasonHeld, leasehold.ReasonUnavailable, leasehold.ReasonUnknown, leasehold.ReasonCancelled:
			default:
				t.Errorf("%v was told %s", told[reason], reason)
			}
		}
	}
}

// locked counts the leases.
func locked(t *testing.T, s leasehold.Store) int {
	page, err := s.(leasehold.Lister).List(t.Context(), leasehold.ListRequest{})
	if err != nil {
		t.Fatalf("List = %v, want success", err)
	}
	return len(page.Leases)
}

// Close waits until unclaimed leases are released.
func TestCloseReleasesUnclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := blocked(t)
		s := overPipes(t, d)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Acquire(ctx, request())
		typed(t, "Acquire", err, leasehold.ReasonUnknown)
		time.AfterFunc(500*time.Millisecond, func() { close(gate) })
		_ = s.Close()
		if _, _, reasons := d.seen(); !slices.Equal(reasons, []string{"abandoned"}) {
			t.Errorf("released %q before Close was over, want one, abandoned", reasons)
		}
	})
}

// acquireBriefly acquires or waits without an id, for a while that is mostly too short.
func acquireBriefly(ctx context.Context, s *remote.Store, random *rand.Rand, holder string) (leasehold.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(1500))*time.Microsecond)
	defer cancel()
	r := leasehold.AcquireRequest{Resource: fmt.Sprint("r", random.IntN(8)), Holder: holder, TTL: leasehold.Infinite}
	if random.IntN(4) == 0 {
		r.Claims, r.Resource = leasehold.Resources(r.Resource, fmt.Sprint("s", random.IntN(4))), ""
		r.Claims[1].Mode = leasehold.Shared
	}
	if random.IntN(2) == 0 {
		return s.Acquire(ctx, r)
	}
	r.Timeout = leasehold.NoTimeout
	return s.Wait(ctx, r)
}

// grantees are all holders that were ever granted anything.
func grantees(t *testing.T, s leasehold.Store) map[string]bool {
	all := map[string]bool{}
	for r := (leasehold.HistoryRequest{Kind: leasehold.KindAcquired, Limit: leasehold.MaxPage}); ; {
		page, err := s.(leasehold.Historian).History(t.Context(), r)
		if err != nil {
			t.Fatalf("History = %v, want success", err)
		}
		for _, record := range page.Records {
			all[record.Holder] = true
		}
		if r.Cursor = page.Cursor; r.Cursor == "" {
			return all
		}
	}
}

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

// recorder is a server that notes what it was asked to do about leases.
type recorder struct {
	http.Handler
	mu   sync.Mutex
	seen []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
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

// Who leaves a wait leaves neither a place nor a lease to an id that nobody
// knows. An id of the caller's keeps its place, and is never released.
func TestLeavingAWait(t *testing.T) {
	for name, over := range map[string]func(testing.TB, http.Handler) *remote.Store{"OwnConnections": overPipes, "HTTPClient": byClient} {
		for _, proposed := range []leasehold.ID{{}, leasehold.NewID()} {
			t.Run(fmt.Sprint(name, "/proposed=", !proposed.IsZero()), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { leaveAWait(t, over, proposed) })
			})
		}
	}
}

func leaveAWait(t *testing.T, over func(testing.TB, http.Handler) *remote.Store, proposed leasehold.ID) {
	door := &recorder{Handler: served(t)}
	s := over(t, door)
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
	_, _ = fmt.Sscanf(door.seen[1], "/v1/leases/acquire w %s", &id)
	for i := range want {
		want[i] = fmt.Sprintf(want[i], id)
	}
	if got := door.seen[1 : len(door.seen)-1]; !slices.Equal(got, want) || !proposed.IsZero() && id != proposed.Reveal() {
		t.Errorf("the server was asked %q, want %q", got, want)
	}
}

// A wait that lost its connection and has no id of the caller's is given up, and
// what it may have been granted is released.
func TestLostWaitIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := served(t)
		var once sync.Once
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			door.ServeHTTP(&deaf{ResponseWriter: w, broken: func() { once.Do(func() { sever(w) }) }}, r)
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

// deaf breaks the connection instead of the first answer.
type deaf struct {
	http.ResponseWriter
	broken func()
}

func (d *deaf) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *deaf) Write(p []byte) (int, error) {
	d.broken()
	return d.ResponseWriter.Write(p)
}

// A server that lets no more waiters in has to be left by closing.
func TestLeavingAFullServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting atomic.Int32
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/leases/release" {
				refuse(w, &leasehold.Error{Reason: leasehold.ReasonNotFound})
				return
			}
			in := asked(t, r)
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

// Callers that leave at random moments leave nothing behind, and what they are
// told is true: what was not sent has not happened.
func TestLeavingAtRandom(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		inside := inside(t)
		server := httptest.NewServer(serving(t, inside))
		t.Cleanup(server.Close)
		s := open(t, server.URL, o())
		var running sync.WaitGroup
		var granted, unknown, unsent, cancelled atomic.Int32
		for worker := range 16 {
			running.Go(func() {
				random := rand.New(rand.NewPCG(uint64(worker), 1))
				for i := range 150 {
					holder := fmt.Sprint(worker, "-", i)
					g, err := leaving(t.Context(), s, random, holder)
					switch {
					case err == nil:
						granted.Add(1)
						if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
							t.Errorf("Release = %v, want success", err)
						}
					case errors.Is(err, leasehold.ErrUnavailable):
						unsent.Add(1)
						neverHeld(t, inside, holder)
					case errors.Is(err, leasehold.ErrUnknown):
						unknown.Add(1)
					case leasehold.ReasonOf(err) == leasehold.ReasonCancelled:
						cancelled.Add(1)
					case !errors.Is(err, leasehold.ErrHeld):
						t.Errorf("%s = %v, want a grant or that it is held", holder, err)
					}
				}
			})
		}
		running.Wait()
		t.Logf("%d granted, %d never sent, %d unknown, %d waits left", granted.Load(), unsent.Load(), unknown.Load(), cancelled.Load())
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			page, err := inside.(leasehold.Lister).List(t.Context(), leasehold.ListRequest{})
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("List = %v, %v; want no lease that nobody knows of", page.Leases, err)
			}
			if len(page.Leases) == 0 {
				return
			}
		}
	})
}

// Close waits until what was left behind is given back.
func TestCloseGivesBack(t *testing.T) {
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

// leaving acquires or waits without an id, for a while that is mostly too short.
func leaving(ctx context.Context, s *remote.Store, random *rand.Rand, holder string) (leasehold.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(1500))*time.Microsecond)
	defer cancel()
	r := leasehold.AcquireRequest{Resource: fmt.Sprint("r", random.IntN(8)), Holder: holder, TTL: leasehold.Infinite}
	if random.IntN(2) == 0 {
		return s.Acquire(ctx, r)
	}
	r.Timeout = leasehold.NoTimeout
	return s.Wait(ctx, r)
}

// neverHeld expects that the holder has never been granted anything.
func neverHeld(t *testing.T, s leasehold.Store, holder string) {
	page, err := s.(leasehold.Historian).History(t.Context(), leasehold.HistoryRequest{Holder: holder, Kind: leasehold.KindAcquired})
	if err != nil || len(page.Records) != 0 {
		t.Errorf("%s was told that nothing happened, and has %d grants, %v", holder, len(page.Records), err)
	}
}

package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

// decodeAcquire reads the body of an acquire.
func decodeAcquire(t testing.TB, r *http.Request) wire.AcquireRequest {
	var in wire.AcquireRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		t.Errorf("the body of %s is not JSON: %v", r.URL, err)
	}
	return in
}

// grantTo answers with the lease that was asked for.
func grantTo(w http.ResponseWriter, in wire.AcquireRequest, waited time.Duration) {
	id, _ := leasehold.ParseID(in.LeaseID)
	if id.IsZero() {
		id = leasehold.NewID()
	}
	answer(w, http.StatusCreated, wire.FromGrant(leasehold.Grant{Lease: owned(id), Waited: waited}, in.Blocking))
}

// sever breaks the connection without an answer.
func sever(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// A wait that loses its connection asks again with the same id for what remains
// of its time, and counts the whole of it.
func TestWaitRetriesWithItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := request()
		r.ID, r.Timeout = leasehold.NewID(), time.Minute
		var timeouts []int64
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			in := decodeAcquire(t, req)
			if in.LeaseID != r.ID.Reveal() || !in.Blocking {
				t.Errorf("the server was asked with another id, or not to wait")
			}
			timeouts = append(timeouts, *in.TimeoutMS)
			time.Sleep(10 * time.Second)
			if len(timeouts) < 3 {
				sever(w)
			}
			grantTo(w, in, 10*time.Second)
		}))
		start := time.Now()
		g, err := s.Wait(t.Context(), r)
		if err != nil || g.ID != r.ID {
			t.Fatalf("Wait = %v, want a grant with the id", err)
		}
		if took := time.Since(start); g.Waited != took || len(timeouts) != 3 {
			t.Errorf("Wait after %d requests: Waited = %v, want all of %v", len(timeouts), g.Waited, took)
		}
		if timeouts[0] != 60_000 || timeouts[1] > 50_000 || timeouts[2] > 40_000 || timeouts[2] < 39_000 {
			t.Errorf("the server was asked to wait for %v ms, want what remained", timeouts)
		}
	})
}

// A server that restarts is asked until the place is no longer kept.
func TestWaitOutlastsARestart(t *testing.T) {
	for name, c := range map[string]struct {
		down    time.Duration
		timeout time.Duration
		want    leasehold.Reason
	}{
		"short":             {down: 10 * time.Second, timeout: leasehold.NoTimeout},
		"too long":          {down: time.Hour, timeout: leasehold.NoTimeout, want: leasehold.ReasonUnknown},
		"longer than asked": {down: time.Hour, timeout: 5 * time.Second, want: leasehold.ReasonUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(c.down)
				s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					in := decodeAcquire(t, req)
					if time.Now().Before(back) {
						sever(w)
					}
					grantTo(w, in, 0)
				}))
				r := request()
				r.ID, r.Timeout = leasehold.NewID(), c.timeout
				_, err := s.Wait(t.Context(), r)
				switch {
				case c.want == "" && err != nil:
					t.Fatalf("Wait = %v, want a grant", err)
				case c.want != "":
					typed(t, "Wait", err, c.want)
				}
				if took := time.Since(back.Add(-c.down)); took > leasehold.KeptPlace+2*time.Second {
					t.Errorf("Wait took %v, longer than the place is kept", took)
				}
			})
		})
	}
}

// The server that broke off and is then not there any more may have granted.
func TestWaitWhoseServerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := pipenet.Listen()
		go func() {
			conn, _ := network.Accept()
			_, _ = conn.Read(make([]byte, 4096))
			_ = network.Close()
			_ = conn.Close()
		}()
		s := open(t, "http://pipe", &remote.Options{Dial: network.Dial})
		r := request()
		r.ID = leasehold.NewID()
		_, err := s.Wait(t.Context(), r)
		typed(t, "Wait", err, leasehold.ReasonUnknown)
	})
}

func TestWaitWithoutAnIDIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := 0
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if in := decodeAcquire(t, req); in.Blocking && in.TimeoutMS == nil {
				waits++ // other than to end it
			}
			sever(w)
		}))
		_, err := s.Wait(t.Context(), request())
		typed(t, "Wait", err, leasehold.ReasonUnknown)
		time.Sleep(time.Minute)
		if waits != 1 {
			t.Errorf("the server was asked %d times, want once", waits)
		}
	})
}

// Only the context ends a wait without a timeout, however long that takes.
func TestWaitForDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			in := decodeAcquire(t, req)
			if requests++; requests == 4 {
				grantTo(w, in, 0)
				return
			}
			waited := time.Duration(*in.TimeoutMS) * time.Millisecond
			time.Sleep(waited)
			refuse(w, &leasehold.Error{Reason: leasehold.ReasonTimeout, Waited: waited})
		}))
		r := request()
		r.Timeout = leasehold.NoTimeout
		g, err := s.Wait(t.Context(), r)
		if err != nil || g.Waited != 72*time.Hour {
			t.Errorf("Wait = %v after %v, want a grant after three days", err, g.Waited)
		}
	})
}

func TestWaitReportsTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			in := decodeAcquire(t, req)
			time.Sleep(time.Second)
			if first {
				first = false
				sever(w)
			}
			refuse(w, &leasehold.Error{Reason: leasehold.ReasonTimeout, Waited: time.Duration(*in.TimeoutMS) * time.Millisecond})
		}))
		r := request()
		r.ID, r.Timeout = leasehold.NewID(), 5*time.Second
		_, err := s.Wait(t.Context(), r)
		if e := typed(t, "Wait", err, leasehold.ReasonTimeout); e.Waited != 5*time.Second {
			t.Errorf("Wait: Waited = %v, want all of it", e.Waited)
		}
	})
}

// A wait that does not tell how long it took must not look immediate.
func TestWaitOfUnknownLength(t *testing.T) {
	s := server(t, nil, func(w http.ResponseWriter, req *http.Request) {
		grantTo(w, decodeAcquire(t, req), leasehold.WaitUnknown)
	})
	if g, err := s.Wait(t.Context(), request()); err != nil || g.Waited != leasehold.WaitUnknown {
		t.Errorf("Wait = %v, Waited %v; want WaitUnknown", err, g.Waited)
	}
}

// The grant that comes after the caller of an acquire has left is released,
// unless the caller proposed its id.
func TestUnclaimedGrantsAreReleased(t *testing.T) {
	for _, proposed := range []leasehold.ID{{}, leasehold.NewID()} {
		synctest.Test(t, func(t *testing.T) {
			d, gate := blocked(t)
			s := overPipes(t, d)
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
			defer cancel()
			r := request()
			r.ID = proposed
			_, err := s.Acquire(ctx, r)
			typed(t, "Acquire", err, leasehold.ReasonUnknown)
			close(gate)
			synctest.Wait()
			if _, _, reasons := d.seen(); (len(reasons) == 1) != proposed.IsZero() || proposed.IsZero() && reasons[0] != "abandoned" {
				t.Errorf("id proposed: %v: released %q", !proposed.IsZero(), reasons)
			}
		})
	}
}

// A server that does not answer does not delay a caller that leaves.
func TestAbandonIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_ = decodeAcquire(t, req)
			<-over
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.Wait(ctx, request())
		e := typed(t, "Wait", err, leasehold.ReasonCancelled)
		if took := time.Since(start); took > 2*time.Second || e.Waited < time.Second {
			t.Errorf("Wait took %v and says %v, want it to end soon after its context", took, e.Waited)
		}
		close(over)
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		arrived := make(chan struct{}, 4)
		s := server(t, o(), func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
			}
			arrived <- struct{}{}
			hang(req)
		})
		r := request()
		r.ID = leasehold.NewID()
		ends := map[string]chan error{"Wait": make(chan error, 1), "Watch": make(chan error, 1), "Acquire": make(chan error, 1)}
		go func() { _, err := s.Wait(t.Context(), r); ends["Wait"] <- err }()
		go func() { _, err := s.Acquire(t.Context(), request()); ends["Acquire"] <- err }()
		go func() {
			ends["Watch"] <- s.Watch(t.Context(), leasehold.WatchRequest{}, func(leasehold.Notice) error { return nil })
		}()
		for range 3 {
			<-arrived
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v, want success", err)
		}
		for call, want := range map[string]leasehold.Reason{
			"Wait": leasehold.ReasonUnavailable, "Watch": leasehold.ReasonUnavailable, "Acquire": leasehold.ReasonUnknown,
		} {
			typed(t, call, <-ends[call], want)
		}
		_, err := s.Status(t.Context(), "r")
		typed(t, "Status", err, leasehold.ReasonUnavailable)
		if err := s.Close(); err != nil {
			t.Errorf("Close twice = %v, want success", err)
		}
	})
}

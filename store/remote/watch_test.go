package remote_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

// streaming serves a stream of events, and keeps it open if on is set.
func streaming(stream string, on bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
		_ = http.NewResponseController(w).Flush()
		if on {
			<-r.Context().Done()
		}
	}
}

const aRecord = `{"seq":5,"at":"2026-01-31T12:00:00Z","event":"acquired","resource":"r","holder":"h","token":7,` +
	`"status_before":"available","status_after":"active","renewals":0,"reason":"","details":{}}`

func TestWatchReadsTheStream(t *testing.T) {
	var asked string
	stream := streaming(": watching\n\nevent: reset\nid: 4\ndata: {\"seq\":4}\n\n"+
		"event: acquired\nid: 5\ndata: "+aRecord+"\n\nevent: from_a_newer_server\ndata: {}\n\ndata: unnamed\n\n", false)
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RequestURI() + " " + r.Header.Get("Last-Event-ID")
		stream(w, r)
	})
	var got []leasehold.Notice
	keep := func(n leasehold.Notice) error { got = append(got, n); return nil }
	err := s.Watch(t.Context(), leasehold.WatchRequest{Prefix: "a&b", Holder: "ä", After: 3}, keep)
	typed(t, "Watch of a stream that ended", err, leasehold.ReasonUnavailable)
	want := []leasehold.Notice{
		{Reset: true, Record: leasehold.Record{Seq: 4}},
		{Record: leasehold.Record{Seq: 5, At: moment, Kind: leasehold.KindAcquired, Resource: "r", Holder: "h", Token: 7, After: leasehold.StateActive}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Watch told (-want +got):\n%s", diff)
	}
	if want := "/v1/events?prefix=a%26b&holder=%C3%A4 3"; asked != want {
		t.Errorf("the server was asked for %q, want %q", asked, want)
	}
	_ = s.Watch(t.Context(), leasehold.WatchRequest{}, keep)
	if want := "/v1/events "; asked != want {
		t.Errorf("the server was asked for %q, want %q", asked, want)
	}
}

func TestWatchEnds(t *testing.T) {
	enough := errors.New("enough")
	s := server(t, nil, streaming("event: acquired\nid: 5\ndata: "+aRecord+"\n\n", true))
	err := s.Watch(t.Context(), leasehold.WatchRequest{}, func(leasehold.Notice) error { return enough })
	if err != enough {
		t.Errorf("Watch = %v, want the error of each as it is", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = s.Watch(ctx, leasehold.WatchRequest{}, func(leasehold.Notice) error { cancel(enough); return nil })
	if typed(t, "Watch", err, leasehold.ReasonUnavailable); !errors.Is(err, enough) {
		t.Errorf("Watch = %v, want it to wrap the context's cause", err)
	}
	err = s.Watch(t.Context(), leasehold.WatchRequest{Prefix: "\x00"}, nil)
	typed(t, "Watch of an impossible prefix", err, leasehold.ReasonInvalid)
}

func TestWatchOtherAnswers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"no stream":      func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, 1) },
		"no content":     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"accepted":       func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusAccepted, struct{}{}) },
		"not JSON":       streaming("event: acquired\ndata: x\n\n", true),
		"melted state":   streaming("event: acquired\ndata: {\"event\":\"acquired\"}\n\n", true),
		"not found":      http.NotFound,
		"a reset of mud": streaming("event: reset\ndata: mud\n\n", true),
	} {
		err := server(t, nil, h).Watch(t.Context(), leasehold.WatchRequest{}, func(leasehold.Notice) error { return nil })
		typed(t, name, err, leasehold.ReasonUnavailable)
	}
	denied := func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &leasehold.Error{Reason: leasehold.ReasonForbidden})
	}
	err := server(t, nil, denied).Watch(t.Context(), leasehold.WatchRequest{}, nil)
	typed(t, "denied", err, leasehold.ReasonForbidden)
}

// A server that is gone without a word is found out by its silence; heartbeats
// are enough to be believed alive.
func TestWatchNoticesSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := overPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stream := streaming(": still here\n\n", false)
			for range 100 {
				stream(w, r)
				time.Sleep(15 * time.Second)
			}
			<-r.Context().Done()
		}))
		start := time.Now()
		err := s.Watch(t.Context(), leasehold.WatchRequest{}, nil)
		typed(t, "Watch", err, leasehold.ReasonUnavailable)
		if took := time.Since(start); took < 1500*time.Second || took > 1600*time.Second {
			t.Errorf("Watch ended after %v, want a minute after the last heartbeat", took)
		}
	})
}

// The whole way: from the store's commit to the caller's function.
func TestWatchOverTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := overPipes(t, served(t))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		told := make(chan leasehold.Notice, 100)
		ended := make(chan error, 1)
		go func() {
			ended <- s.Watch(ctx, leasehold.WatchRequest{Prefix: "r"}, func(n leasehold.Notice) error { told <- n; return nil })
		}()
		time.Sleep(time.Second) // until the watch stands
		g, err := s.Acquire(ctx, request())
		if err != nil {
			t.Fatalf("Acquire = %v, want a grant", err)
		}
		_, _ = s.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "other"})
		_, _ = s.Acquire(ctx, leasehold.AcquireRequest{Resource: "elsewhere", Holder: "h"})
		_, _ = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
		var last uint64
		for _, want := range []leasehold.Kind{leasehold.KindAcquired, leasehold.KindRefused, leasehold.KindReleased} {
			n := <-told
			if n.Kind != want || n.Resource != "r" || (n.Seq == 0) != (want == leasehold.KindRefused) {
				t.Errorf("Watch told %+v, want %s", n, want)
			}
			last = max(last, n.Seq)
		}
		cancel()
		if err := <-ended; !errors.Is(err, leasehold.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("Watch = %v, want ErrUnavailable for its context", err)
		}
		enough := errors.New("enough")
		err = s.Watch(t.Context(), leasehold.WatchRequest{After: 1}, func(n leasehold.Notice) error {
			if n.Seq == last {
				return enough
			}
			return nil
		})
		if err != enough {
			t.Errorf("Watch after 1 = %v, want it to tell what was missed", err)
		}
	})
}

package remote_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

// blocked is a batchServer that answers nothing before the gate is open.
func blocked(t testing.TB) (d *batchServer, gate chan struct{}) {
	gate = make(chan struct{})
	return &batchServer{t: t, answers: func(r *http.Request, _ string, in wire.AcquireRequest) (int, any) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		return granted(in)
	}}, gate
}

// A caller that leaves before its call was sent knows that nothing happened.
func TestCallersLeaveTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := blocked(t)
		s := overPipes(t, d)
		first := acquireAll(t.Context(), s, remote.MaxRequests)
		synctest.Wait()
		cause := errors.New("thought better of it")
		ctx, cancel := context.WithCancelCause(t.Context())
		leaving, staying := acquireAll(ctx, s, 3), acquireAll(t.Context(), s, 2)
		synctest.Wait()
		cancel(cause)
		leaving.Wait()
		for _, err := range leaving.errs {
			if typed(t, "Acquire", err, leasehold.ReasonUnavailable); !errors.Is(err, cause) {
				t.Errorf("Acquire = %v, want the context's cause", err)
			}
		}
		close(gate)
		first.Wait()
		staying.Wait()
		typed(t, "Acquire with a context that has ended", acquireOne(ctx, s, 0), leasehold.ReasonUnavailable)
		_, batches, reasons := d.seen()
		if len(batches) != 1 || len(batches[0]) != 2 || len(reasons) != 0 || slices.ContainsFunc(staying.errs, failed) {
			t.Errorf("the server got %d batches and %d releases, the others %v; want one with those who stayed", len(batches), len(reasons), staying.errs)
		}
	})
}

func failed(err error) bool { return err != nil }

// When everybody has left, the queue is empty and nothing is sent at all.
func TestAllCallersLeaveTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := blocked(t)
		s := overPipes(t, d)
		first := acquireAll(t.Context(), s, remote.MaxRequests)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		leaving := acquireAll(ctx, s, 3)
		synctest.Wait()
		cancel()
		leaving.Wait()
		time.Sleep(time.Second) // past the time that anybody is held
		close(gate)
		first.Wait()
		if _, batches, _ := d.seen(); len(batches) != 0 {
			t.Errorf("the server got %d batches, want none", len(batches))
		}
	})
}

// One caller's deadline does not end the others' calls. The grant of a caller that
// has left is released, unless the caller proposed its id.
func TestCallersLeaveABatch(t *testing.T) {
	for _, proposed := range []leasehold.ID{{}, leasehold.NewID()} {
		synctest.Test(t, func(t *testing.T) {
			d, gate := blocked(t)
			s := remote.AlwaysBatch(overPipes(t, d))
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
			defer cancel()
			left := make(chan error, 1)
			go func() {
				_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "left", Holder: "h", ID: proposed})
				left <- err
			}()
			staying := acquireAll(t.Context(), s, 3)
			began := time.Now()
			err := <-left
			if typed(t, "Acquire", err, leasehold.ReasonUnknown); time.Since(began) != time.Second || !strings.Contains(err.Error(), "enough") {
				t.Errorf("Acquire = %v after %v, want its own deadline", err, time.Since(began))
			}
			close(gate)
			staying.Wait()
			synctest.Wait()
			if slices.ContainsFunc(staying.errs, failed) {
				t.Errorf("the others were told %v, want grants", staying.errs)
			}
			if _, _, reasons := d.seen(); (len(reasons) == 1) != proposed.IsZero() || len(reasons) == 1 && reasons[0] != "abandoned" {
				t.Errorf("id proposed: %v: released %q", !proposed.IsZero(), reasons)
			}
		})
	}
}

// When the last caller has left a batch it goes on, and what it brings is given
// back.
func TestAllCallersLeaveABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := blocked(t)
		s := remote.AlwaysBatch(overPipes(t, d))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := acquireAll(ctx, s, 5)
		c.Wait()
		for _, err := range c.errs {
			typed(t, "Acquire", err, leasehold.ReasonUnknown)
		}
		time.Sleep(10 * time.Second) // less than the timeout of the request
		close(gate)
		synctest.Wait()
		if _, _, reasons := d.seen(); len(reasons) != 5 || slices.ContainsFunc(reasons, func(r string) bool { return r != "abandoned" }) {
			t.Errorf("released %q, want all five, abandoned", reasons)
		}
	})
}

// A lost batch is to each of its calls what a lost call is.
func TestLostBatches(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		for what, instead := range map[string]func(http.ResponseWriter, *http.Request, wire.BatchRequest){
			"the connection broke":   func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) { sever(w) },
			"the answer is not JSON": func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) { answer(w, 200, "<html>") },
			"an answer is missing":   func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) { answer(w, 200, wire.BatchAnswer{}) },
			"the answer breaks off": func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) {
				w.Header().Set("Content-Length", "1000")
			},
			"a stranger has failed": func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) {
				http.Error(w, "nginx", http.StatusBadGateway)
			},
			"the server hangs":         func(w http.ResponseWriter, r *http.Request, _ wire.BatchRequest) { <-r.Context().Done() },
			"another success is meant": func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) { answer(w, 202, wire.BatchAnswer{}) },
		} {
			options := o()
			options.Timeout = 200 * time.Millisecond
			s := remote.AlwaysBatch(server(t, options, (&batchServer{t: t, instead: instead}).ServeHTTP))
			c := acquireAll(t.Context(), s, 4)
			c.Wait()
			for i, err := range c.errs {
				e := typed(t, "Acquire: "+what, err, leasehold.ReasonUnknown)
				if e.Op != "acquire" || e.Resource != "r"+string(rune('0'+i)) || e.Cause == nil {
					t.Errorf("Acquire: %s = %+v, want op, resource and cause", what, e)
				}
			}
		}
	})
}

// Calls of a batch that never left are known not to have happened.
func TestBatchWithoutServer(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		c := acquireAll(t.Context(), remote.AlwaysBatch(open(t, "http://"+l.Addr().String(), o())), 4)
		c.Wait()
		for _, err := range c.errs {
			typed(t, "Acquire", err, leasehold.ReasonUnavailable)
		}
	})
}

// Close ends the calls that wait for a batch, of which nothing was sent, and
// those under way, of which something was.
func TestCloseEndsBatches(t *testing.T) {
	both(t, func(t *testing.T, o func() *remote.Options) {
		var arrived atomic.Int32
		s := server(t, o(), func(w http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			hang(r)
		})
		c := acquireAll(t.Context(), remote.AlwaysBatch(s), 5)
		for arrived.Load() == 0 {
			time.Sleep(time.Millisecond) // real sockets: the batch must arrive
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v, want success", err)
		}
		c.Wait()
		for _, err := range c.errs {
			if !errors.Is(err, leasehold.ErrUnknown) && !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "the client is closed") {
				t.Errorf("Acquire = %v, want it to tell that the client is closed", err)
			}
		}
		typed(t, "Acquire after Close", acquireOne(t.Context(), s, 0), leasehold.ReasonUnavailable)
	})
}

func TestCloseWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := blocked(t)
		s := overPipes(t, d)
		first := acquireAll(t.Context(), s, remote.MaxRequests)
		synctest.Wait()
		queued := acquireAll(t.Context(), s, 3)
		synctest.Wait()
		_ = s.Close()
		queued.Wait()
		first.Wait()
		for _, err := range queued.errs {
			typed(t, "Acquire that was queued", err, leasehold.ReasonUnavailable)
		}
		for _, err := range first.errs {
			typed(t, "Acquire that was sent", err, leasehold.ReasonUnknown)
		}
		if _, batches, _ := d.seen(); len(batches) != 0 {
			t.Errorf("the server got %d batches, want none", len(batches))
		}
	})
}

// Close does not wait for ever for a connection that is being made.
func TestCloseWhileABatchDials(t *testing.T) {
	dialling := make(chan struct{}, 8)
	s := remote.AlwaysBatch(open(t, "http://host", &remote.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialling <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}))
	c := acquireAll(t.Context(), s, 3)
	<-dialling
	_ = s.Close()
	c.Wait()
	for _, err := range c.errs {
		typed(t, "Acquire", err, leasehold.ReasonUnavailable)
	}
}

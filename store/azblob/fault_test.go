package azblob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/azblob"
	"github.com/leasehold/leasehold/storetest"
)

// faults is a transport that fails on purpose. Each request is shown to fail,
// which returns what happens to it.
type faults struct {
	http.RoundTripper

	mu   sync.Mutex
	fail func(r *http.Request) fault
	seen []string // the requests, as kinds of call
}

// fault is what happens to a request. The zero value: nothing.
type fault struct {
	status int         // an answer instead of the service's
	code   string      // Azure's
	header http.Header // of that answer
	err    error       // no answer
	done   bool        // the service carries it out all the same
	before func()      // runs before the service gets it
	after  func()      // runs before the client gets the service's answer
	late   *lateCall   // no answer, and the service gets it later
}

// lateCall is a request that its sender has given up, and that the network
// delivers when deliver is called.
type lateCall struct {
	request *http.Request
	through http.RoundTripper
}

// deliver returns the service's answer, which nobody waits for.
func (l *lateCall) deliver(t testing.TB) int {
	t.Helper()
	if l.request == nil {
		t.Fatal("no request is late")
	}
	answer, err := l.through.RoundTrip(l.request)
	if err != nil {
		t.Fatalf("delivering late: %v", err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	return answer.StatusCode
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	x := f.next(r)
	if x.before != nil {
		x.before()
	}
	if x.late != nil {
		x.late.through, x.late.request = f.RoundTripper, r.Clone(context.Background())
		if r.Body != nil { // those of this store are small
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			x.late.request.Body = io.NopCloser(bytes.NewReader(body))
		}
		return nil, errCut
	}
	if x.after != nil {
		defer x.after()
	}
	if x.status == 0 && x.err == nil {
		return f.RoundTripper.RoundTrip(r)
	}
	if x.done {
		answer, err := f.RoundTripper.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	if x.err != nil {
		return nil, x.err
	}
	header := http.Header{"X-Ms-Error-Code": {x.code}, "Content-Type": {"application/xml"}}
	for k, v := range x.header {
		header[k] = v
	}
	body := "<?xml version=\"1.0\"?><Error><Code>" + x.code + "</Code><Message>" + secretInAnswer + "</Message></Error>"
	return &http.Response{
		StatusCode: x.status, Status: http.StatusText(x.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// secretInAnswer stands for what a service repeats of a request in an error.
const secretInAnswer = "the string to sign was SECRET"

func (f *faults) next(r *http.Request) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, callOf(r))
	if f.fail == nil {
		return fault{}
	}
	return f.fail(r)
}

func (f *faults) set(fail func(*http.Request) fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.seen = fail, nil
}

func (f *faults) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// callOf names a request: load, store, create, or the lease operation.
func callOf(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case q.Get("restype") == "container" && q.Get("comp") == "list":
		return "list"
	case q.Get("restype") == "container":
		return "container"
	case q.Get("comp") == "lease":
		return r.Header.Get("X-Ms-Lease-Action") + header(r, "x-ms-lease-action")
	case strings.HasSuffix(r.URL.Path, ".break") && r.Method == http.MethodHead:
		return "load break"
	case strings.HasSuffix(r.URL.Path, ".break"):
		return "store break"
	case r.Method == http.MethodHead:
		return "load"
	case r.Method == http.MethodGet:
		return "content"
	}
	return "store"
}

// header reads a header that the SDK set in lower case.
func header(r *http.Request, name string) string {
	if v := r.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// onceFor fails the first request of a kind.
func onceFor(call string, x fault) func(*http.Request) fault {
	done := false
	return func(r *http.Request) fault {
		if done || callOf(r) != call {
			return fault{}
		}
		done = true
		return x
	}
}

// alwaysFor fails all requests of a kind.
func alwaysFor(call string, x fault) func(*http.Request) fault {
	return func(r *http.Request) fault {
		if callOf(r) != call {
			return fault{}
		}
		return x
	}
}

// faultyOn is a store whose calls can fail.
func faultyOn(t testing.TB, transport http.RoundTripper, o *azblob.Options) *azblob.Store {
	s, err := azblob.New(containerOf(t, transport, "pipe", "leases"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var errCut = errors.New("connection reset by peer")

// several spreads calls over stores of as many processes.
type several []*azblob.Store

func (s several) any() *azblob.Store { return s[rand.N(len(s))] }

func (s several) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.any().Acquire(ctx, r)
}

func (s several) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.any().Wait(ctx, r)
}

func (s several) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	return s.any().Renew(ctx, r)
}

func (s several) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.any().Release(ctx, r)
}

func (s several) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	return s.any().Break(ctx, r)
}

func (s several) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	return s.any().Status(ctx, resource)
}

func (s several) Close() error { return nil }

// TestLinearizableAmongProcesses has 16 workers on four stores that know nothing
// of each other.
func TestLinearizableAmongProcesses(t *testing.T) {
	api := newAzureAPI(t)
	var all several
	for range 4 {
		all = append(all, onAzureAPI(t, api))
	}
	rec := storetest.Hammer(t, all, &storetest.LoadOptions{Workers: 16, Calls: 40, TTL: longest, Waiting: true, Seed: rand.Uint64()})
	t.Logf("%d calls, %d grants", rec.Len(), rec.Grants())
	storetest.CheckHistory(t, rec)
}

// TestLinearizableWithFaults loses requests and answers at random.
func TestLinearizableWithFaults(t *testing.T) {
	api := newAzureAPI(t)
	var all several
	for i := range 4 {
		random := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
		all = append(all, faultyOn(t, &faults{RoundTripper: api.transport, fail: func(*http.Request) fault {
			switch random.IntN(40) {
			case 0:
				return fault{err: errCut}
			case 1:
				return fault{err: errCut, done: true}
			case 2:
				return fault{status: 500, code: "InternalError", done: true}
			case 3:
				return fault{status: 503, code: "ServerBusy"}
			}
			return fault{}
		}}, &azblob.Options{Timeout: generous}))
	}
	rec := storetest.Hammer(t, all, &storetest.LoadOptions{Workers: 16, Calls: 30, TTL: longest, Waiting: true, Seed: rand.Uint64()})
	t.Logf("%d calls, %d grants, %d in doubt, %d failed", rec.Len(), rec.Grants(), rec.InDoubt(), rec.Failed())
	storetest.CheckHistory(t, rec)
}

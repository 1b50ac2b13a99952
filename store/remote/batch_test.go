package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/storetest"
	"github.com/leasehold/leasehold/wire"
)

// The whole contract, with every call that may be batched in a batch.
func TestConformanceBatches(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Bubble:  true,
		Open:    func(t testing.TB) leasehold.Store { return remote.AlwaysBatch(overPipes(t, served(t))) },
		Without: notHere,
	})
}

// The answers that many callers get through batches are those of one store.
func TestHistoryOfBatches(t *testing.T) {
	for seed := range uint64(3) {
		server := httptest.NewServer(served(t))
		t.Cleanup(server.Close)
		s := open(t, server.URL, nil)
		if seed > 0 {
			remote.AlwaysBatch(s)
		}
		storetest.CheckHistory(t, storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 24, Calls: 40, Seed: seed, Waiting: true}))
	}
}

// batchServer answers batches as a test wants, and records what arrived.
type batchServer struct {
	t testing.TB

	// answers, if set, answers each operation; otherwise it is granted or
	// renewed. It may block.
	answers func(r *http.Request, op string, in wire.AcquireRequest) (int, any)

	// instead, if set, answers a batch in another way.
	instead func(w http.ResponseWriter, r *http.Request, in wire.BatchRequest)

	mu      sync.Mutex
	paths   []string // of the requests
	batches [][]wire.Operation
	reasons []string // of the releases
}

func (d *batchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	d.paths = append(d.paths, r.URL.Path)
	d.mu.Unlock()
	if r.URL.Path != "/v1/leases/batch" {
		status, v := d.answer(r, strings.TrimPrefix(r.URL.Path, "/v1/leases/"), body)
		answer(w, status, v)
		return
	}
	var in wire.BatchRequest
	if err := json.Unmarshal(body, &in); err != nil {
		d.t.Errorf("the batch %.200s is not JSON: %v", body, err)
	}
	d.mu.Lock()
	d.batches = append(d.batches, in.Operations)
	d.mu.Unlock()
	if d.instead != nil {
		d.instead(w, r, in)
		return
	}
	answer(w, http.StatusOK, d.all(r, in))
}

// all answers every operation, one after the other.
func (d *batchServer) all(r *http.Request, in wire.BatchRequest) wire.BatchAnswer {
	var out wire.BatchAnswer
	for _, o := range in.Operations {
		status, v := d.answer(r, o.Op, o.Request)
		body, _ := json.Marshal(v)
		out.Answers = append(out.Answers, wire.Answer{Status: status, Body: body})
	}
	return out
}

func (d *batchServer) answer(r *http.Request, op string, body []byte) (int, any) {
	var in wire.AcquireRequest
	var out wire.ReleaseRequest
	_ = json.Unmarshal(body, &in)
	_ = json.Unmarshal(body, &out)
	if op == "release" {
		d.mu.Lock()
		d.reasons = append(d.reasons, out.Reason)
		d.mu.Unlock()
		return http.StatusOK, wire.Released{Success: true, Lease: wire.FromLease(lease())}
	}
	if d.answers != nil {
		return d.answers(r, op, in)
	}
	return granted(in)
}

// granted is the lease that was asked for.
func granted(in wire.AcquireRequest) (int, any) {
	l := owned(leasehold.NewID())
	l.Resource, l.Holder = in.Resource, in.Holder
	if id, err := leasehold.ParseID(in.LeaseID); err == nil {
		l.ID = id
	}
	return http.StatusCreated, wire.FromGrant(leasehold.Grant{Lease: l}, false)
}

func (d *batchServer) seen() (paths []string, batches [][]wire.Operation, reasons []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paths, d.batches, d.reasons
}

// clients are n acquires at the same time, with their errors.
type clients struct {
	sync.WaitGroup
	errs []error
}

func acquireAll(ctx context.Context, s *remote.Store, n int) *clients {
	c := &clients{errs: make([]error, n)}
	for i := range n {
		c.Go(func() { c.errs[i] = acquireOne(ctx, s, i) })
	}
	return c
}

func acquireOne(ctx context.Context, s *remote.Store, i int) error {
	_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: fmt.Sprint("r", i), Holder: "h"})
	return err
}

// Few calls are sent alone; those that come while they are under way are sent as
// a batch when one is answered.
func TestCallsAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		d := &batchServer{t: t, answers: func(_ *http.Request, _ string, in wire.AcquireRequest) (int, any) {
			<-gate
			return granted(in)
		}}
		s := overPipes(t, d)
		for range 3 { // one after the other: each alone
			go func() { gate <- struct{}{} }()
			if err := acquireOne(t.Context(), s, 0); err != nil {
				t.Fatalf("Acquire = %v, want a grant", err)
			}
			synctest.Wait() // the request counts as ended a moment after its answer
		}
		c := acquireAll(t.Context(), s, 50)
		synctest.Wait()
		close(gate)
		c.Wait()
		for i, err := range c.errs {
			if err != nil {
				t.Errorf("Acquire %d = %v, want a grant", i, err)
			}
		}
		paths, batches, _ := d.seen()
		if len(batches) != 1 || len(batches[0]) != 50-remote.MaxRequests || len(paths) != 3+remote.MaxRequests+1 {
			t.Errorf("the server got %d requests with %d batches, want %d alone and the rest together", len(paths), len(batches), 3+remote.MaxRequests)
		}
	})
}

// Requests that hang do not delay later calls.
func TestQueueDelayIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &batchServer{t: t, answers: func(r *http.Request, _ string, in wire.AcquireRequest) (int, any) {
			if in.Resource == "hangs" {
				<-r.Context().Done()
			}
			return granted(in)
		}}
		s := overPipes(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		for range 5 {
			hanging.Go(func() { _, _ = s.Acquire(ctx, leasehold.AcquireRequest{Resource: "hangs", Holder: "h"}) })
		}
		synctest.Wait()
		for range 3 {
			time.Sleep(time.Second)
			began := time.Now()
			c := acquireAll(t.Context(), s, 3)
			c.Wait()
			if took := time.Since(began); took > remote.MaxDelay || c.errs[0] != nil {
				t.Errorf("Acquire = %v after %v, want a grant within %v", c.errs[0], took, remote.MaxDelay)
			}
		}
		cancel()
		hanging.Wait()
	})
}

// Batches stay within the limits of their number and their size.
func TestBatchesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &batchServer{t: t}
		s := remote.AlwaysBatch(overPipes(t, d))
		c := acquireAll(t.Context(), s, 600)
		c.Wait()
		long := map[string]string{}
		for i := range 8 {
			long[fmt.Sprint(i)] = strings.Repeat("x", 1000)
		}
		var heavy sync.WaitGroup
		for i := range 100 {
			heavy.Go(func() {
				_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: fmt.Sprint(i), Holder: "h", Metadata: long})
				if err != nil {
					t.Errorf("Acquire = %v, want a grant", err)
				}
			})
		}
		heavy.Wait()
		total := 0
		_, batches, _ := d.seen()
		for _, batch := range batches {
			size := 0
			for _, o := range batch {
				size += len(o.Request)
			}
			if total += len(batch); len(batch) > wire.MaxOperations || size > remote.MaxBatch {
				t.Errorf("a batch has %d operations of %d bytes, want at most %d of %d", len(batch), size, wire.MaxOperations, remote.MaxBatch)
			}
		}
		for i, err := range c.errs {
			if err != nil {
				t.Errorf("Acquire %d = %v, want a grant", i, err)
			}
		}
		if total != 700 || len(batches) < 6 {
			t.Errorf("the server got %d operations in %d batches, want 700 in several", total, len(batches))
		}
	})
}

// Each caller gets the answer to its own call, as if it had come alone.
func TestAnswersOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &batchServer{t: t, answers: func(_ *http.Request, op string, in wire.AcquireRequest) (int, any) {
			switch in.Resource {
			case "r1":
				p := wire.FromError(&leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "r1", Current: new(lease()), RetryAfter: time.Second})
				return p.Status, p
			case "r2":
				return http.StatusOK, map[string]any{"resource": 7} // nonsense
			case "r3":
				return http.StatusBadGateway, "a string"
			}
			return granted(in)
		}}
		s := remote.AlwaysBatch(overPipes(t, d))
		c := acquireAll(t.Context(), s, 6)
		c.Wait()
		if e := typed(t, "Acquire of what is held", c.errs[1], leasehold.ReasonHeld); e.Current.Holder != "h" || e.RetryAfter != time.Second {
			t.Errorf("Acquire = %+v, want who holds it", e)
		}
		typed(t, "Acquire answered with nonsense", c.errs[2], leasehold.ReasonUnknown)
		typed(t, "Acquire answered by a stranger", c.errs[3], leasehold.ReasonUnknown)
		for _, i := range []int{0, 4, 5} {
			if c.errs[i] != nil {
				t.Errorf("Acquire %d = %v, want a grant", i, c.errs[i])
			}
		}
	})
}

package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

// erratic is a store that panics, fails or hangs, by the resource's name.
type erratic struct{ *local.Engine }

func (s erratic) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	switch r.Resource {
	case "panics":
		panic("the store is out of its mind")
	case "aborts":
		panic(http.ErrAbortHandler)
	case "fails":
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: io.ErrUnexpectedEOF}
	case "hangs":
		<-ctx.Done()
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
	}
	return s.Engine.Acquire(ctx, r)
}

// What goes wrong with one operation goes wrong with that one.
func TestBatchWithAnErraticStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, erratic{memory.New()}, nil)
		acquire := func(resource string) string { return op("acquire", `{"resource":"`+resource+`","holder":"a"}`) }
		began := time.Now()
		all := d.batch(acquire("panics"), acquire("fails"), acquire("good"), acquire("hangs"), acquire("aborts"), acquire("good too"))
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the batch took %v, want the store's limit of 5 s", took)
		}
		all[0].wantProblem(http.StatusInternalServerError, "internal")
		if p := all[1].wantProblem(http.StatusServiceUnavailable, "store_unavailable"); strings.Contains(p.Detail, "EOF") {
			t.Errorf("a failure = %s, want its cause in the log only", all[1].body)
		}
		want[wire.Grant](all[2], http.StatusCreated)
		all[3].wantProblem(http.StatusGatewayTimeout, "store_timeout")
		all[4].wantProblem(http.StatusInternalServerError, "internal")
		want[wire.Grant](all[5], http.StatusCreated)
		if log := d.log.String(); !strings.Contains(log, "out of its mind") || !strings.Contains(log, "unexpected EOF") {
			t.Errorf("the log lacks what went wrong: %s", log)
		}
	})
}

// disconnecting is a store whose client leaves while it decides.
type disconnecting struct {
	*local.Engine
	disconnect func()
	acquired   atomic.Int32
	all        int32
}

func (s *disconnecting) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	g, err := s.Engine.Acquire(context.WithoutCancel(ctx), r)
	if s.acquired.Add(1) == s.all {
		s.disconnect()
	}
	<-ctx.Done() // the client is gone, and the grant is made
	return g, err
}

// Grants that could not be delivered are released, unless they can be requested
// again.
func TestUndeliveredBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &disconnecting{Engine: memory.New(), all: 3}
		d := newDriver(t, store, nil)
		_, client := d.listen()
		ctx, cancel := context.WithCancel(t.Context())
		store.disconnect = cancel
		body := batchOf(
			op("acquire", `{"resource":"lost","holder":"a"}`),
			op("acquire", `{"resource":"lost too","holder":"a"}`),
			op("acquire", `{"resource":"known","holder":"a","lease_id":"`+otherID+`"}`),
		)
		if _, err := client.Do(newRequest(t, ctx, "POST", batchPath, body)); err == nil {
			t.Fatal("the batch was answered, want the client gone")
		}
		synctest.Wait()
		for resource, locked := range map[string]bool{"lost": false, "lost too": false, "known": true} {
			if s := d.status(resource); s.Locked != locked || s.Lease == nil {
				t.Errorf("%q is locked: %v, want %v after it was held", resource, s.Locked, locked)
			}
		}
		noUUID(t, "the log", d.log.String())
	})
}

// Operations of one batch are one commit's work, not one each.
func TestBatchRunsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, &slow{Engine: memory.New(), takes: time.Second}, nil)
		var operations []string
		for i := range 100 {
			operations = append(operations, op("acquire", fmt.Sprintf(`{"resource":"r%d","holder":"a"}`, i)))
		}
		began := time.Now()
		d.batch(operations...)
		if took := time.Since(began); took != time.Second {
			t.Errorf("100 operations of a second took %v, want a second", took)
		}
	})
}

// Where too many operations have a goroutine, a batch runs one after the other.
func TestBatchWithoutGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, &slow{Engine: memory.New(), takes: time.Second}, nil)
		d.server.parallel.Store(maxParallel)
		began := time.Now()
		for i, r := range d.batch(op("acquire", `{"resource":"r","holder":"a"}`), op("acquire", `{"resource":"s","holder":"a"}`)) {
			if r.status != http.StatusCreated {
				t.Errorf("operation %d = %d %s, want 201", i, r.status, r.body)
			}
		}
		if took := time.Since(began); took != 2*time.Second || d.server.parallel.Load() != maxParallel {
			t.Errorf("two operations of a second took %v, want one after the other", took)
		}
	})
}

package remote_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
	"github.com/leasehold/leasehold/wire"
)

// behindProxy is a batchServer behind a proxy that answers batches with the
// status. Calls that are sent alone reach the server.
func behindProxy(t testing.TB, status int) *batchServer {
	return &batchServer{t: t, instead: func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) {
		http.Error(w, "nginx", status)
	}}
}

// The calls of a batch that a proxy refuses for its size or its path are sent
// alone.
func TestBatchesThatAProxyRefuses(t *testing.T) {
	for _, status := range []int{400, 403, 413, 414, 415, 431} {
		synctest.Test(t, func(t *testing.T) {
			d := behindProxy(t, status)
			s := remote.AlwaysBatch(overPipes(t, d))
			for range 2 {
				c := acquireAll(t.Context(), s, 10)
				c.Wait()
				if slices.ContainsFunc(c.errs, failed) {
					t.Errorf("after %d: Acquire = %v, want grants", status, c.errs)
				}
			}
			if paths, batches, _ := d.seen(); len(batches) < 2 || len(paths) != 20+len(batches) {
				t.Errorf("after %d: %d batches in %d requests, want each tried", status, len(batches), len(paths))
			}
		})
	}
}

// After an answer of a proxy that may have forwarded the batch, the outcome is
// unknown: sending the calls again could do everything twice.
func TestBatchesAreNotSentTwice(t *testing.T) {
	want := map[int]leasehold.Reason{
		http.StatusUnauthorized:    leasehold.ReasonUnauthenticated,
		http.StatusTooManyRequests: leasehold.ReasonRateLimited,
	}
	for _, status := range []int{401, 402, 406, 408, 409, 410, 412, 421, 422, 425, 429, 444, 460, 499} {
		reason, named := want[status]
		if !named {
			reason = leasehold.ReasonUnknown
		}
		synctest.Test(t, func(t *testing.T) {
			d := behindProxy(t, status)
			s := remote.AlwaysBatch(overPipes(t, d))
			c := acquireAll(t.Context(), s, 4)
			c.Wait()
			for i, err := range c.errs {
				if e, ok := err.(*leasehold.Error); !ok || e.Reason != reason || e.Resource != "r"+string(rune('0'+i)) || e.Cause == nil {
					t.Errorf("after %d: Acquire %d = %v, want %s", status, i, err, reason)
				}
			}
			if paths, batches, _ := d.seen(); len(paths) != len(batches) {
				t.Errorf("after %d: %d requests of which %d are batches, want nothing sent again", status, len(paths), len(batches))
			}
		})
	}
}

// A server that knows no batches says so when all callers have left and the batch
// ends.
func TestOlderServersAnswerALateBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &batchServer{t: t, instead: func(w http.ResponseWriter, r *http.Request, _ wire.BatchRequest) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusNotFound)
		}}
		s := remote.AlwaysBatch(overPipes(t, d))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := acquireAll(ctx, s, 5)
		c.Wait()
		synctest.Wait()
		for _, err := range c.errs {
			typed(t, "Acquire", err, leasehold.ReasonUnknown)
		}
		if paths, batches, _ := d.seen(); len(paths) != len(batches) {
			t.Errorf("%d requests of which %d are batches, want nothing sent again", len(paths), len(batches))
		}
	})
}

// A batch that must be retried later is not sent again as single calls.
func TestBatchRetryAfter(t *testing.T) {
	s := remote.AlwaysBatch(server(t, nil, (&batchServer{t: t, instead: func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "nginx", http.StatusTooManyRequests)
	}}).ServeHTTP))
	if e := typed(t, "Acquire", acquireOne(t.Context(), s, 0), leasehold.ReasonRateLimited); e.RetryAfter != 7*time.Second {
		t.Errorf("Acquire = %+v, want when to come back", e)
	}
}

// A refusal by the server is the answer to every call of the batch, even with a
// status that from a proxy would mean to send the calls alone.
func TestRefusedBatches(t *testing.T) {
	for _, reason := range []leasehold.Reason{leasehold.ReasonRateLimited, leasehold.ReasonForbidden, leasehold.ReasonInvalid, leasehold.ReasonMediaType} {
		d := &batchServer{t: t, instead: func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) {
			refuse(w, &leasehold.Error{Reason: reason, RetryAfter: 3 * time.Second})
		}}
		s := remote.AlwaysBatch(server(t, nil, d.ServeHTTP))
		c := acquireAll(t.Context(), s, 3)
		c.Wait()
		for i, err := range c.errs {
			if e := typed(t, "Acquire", err, reason); e.RetryAfter != 3*time.Second || e.Op != "acquire" || e.Resource != "r"+string(rune('0'+i)) {
				t.Errorf("Acquire %d = %+v, want when to come back", i, e)
			}
		}
		if paths, batches, _ := d.seen(); len(paths) != len(batches) {
			t.Errorf("%s: %d requests of which %d are batches, want nothing sent again", reason, len(paths), len(batches))
		}
	}
}

// A server that does not know batches is asked for one once.
func TestOlderServers(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		synctest.Test(t, func(t *testing.T) {
			d := &batchServer{t: t, instead: func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) { w.WriteHeader(status) }}
			s := remote.AlwaysBatch(overPipes(t, d))
			for range 3 {
				c := acquireAll(t.Context(), s, 300) // more than one batch holds
				c.Wait()
				if slices.ContainsFunc(c.errs, failed) {
					t.Errorf("after %d: Acquire = %v, want grants", status, c.errs)
				}
			}
			if paths, batches, _ := d.seen(); len(batches) > 2 || len(paths) != 900+len(batches) {
				t.Errorf("after %d: %d batches in %d requests, want the first ones only", status, len(batches), len(paths))
			}
		})
	}
}

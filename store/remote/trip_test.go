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

// turnedAway is a desk whose batches a stranger answers with the status. Calls
// that come alone get through.
func turnedAway(t testing.TB, status int) *desk {
	return &desk{t: t, instead: func(w http.ResponseWriter, _ *http.Request, _ wire.BatchRequest) {
		http.Error(w, "nginx", status)
	}}
}

// A batch that does not get past what stands between, because of its size or
// its path, is taken apart.
func TestBatchesThatAreStopped(t *testing.T) {
	for _, status := range []int{400, 403, 413, 414, 415, 431} {
		synctest.Test(t, func(t *testing.T) {
			d := turnedAway(t, status)
			s := remote.Together(overPipes(t, d))
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

// What a stranger says after it may have passed the batch on leaves open what
// happened: to send the calls once more could do everything twice.
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
			d := turnedAway(t, status)
			s := remote.Together(overPipes(t, d))
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

// The last word of a server that knows no batches comes when everybody has left
// and the trip has ended without an answer, or while it ends.
func TestOlderServersAnswerALateBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, instead: func(w http.ResponseWriter, r *http.Request, _ wire.BatchRequest) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusNotFound)
		}}
		s := remote.Together(overPipes(t, d))
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

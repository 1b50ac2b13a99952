package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/server/auth"
)

// longHistory is a store whose history takes a while to read.
type longHistory struct {
	leasehold.Store
	takes time.Duration
}

func (s longHistory) History(ctx context.Context, _ leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if !sleep.For(ctx, s.takes) {
		return leasehold.HistoryPage{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: context.Cause(ctx)}
	}
	return leasehold.HistoryPage{}, nil
}

// A caller reads the history so many times at once and no more, and all callers
// together so many times.
func TestHistoryLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		d.server.store = longHistory{d.server.store, 10 * time.Second}
		read := func(caller string) *httptest.ResponseRecorder {
			ctx := auth.With(t.Context(), auth.Caller{Name: caller, Roles: []auth.Role{auth.RoleReader}})
			w := httptest.NewRecorder()
			go d.server.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/history", nil).WithContext(ctx))
			synctest.Wait()
			return w
		}
		refused := func(what string, w *httptest.ResponseRecorder, says string) {
			t.Helper()
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), says) {
				t.Errorf("%s = %d %s, want 429 that says %q", what, w.Code, w.Body, says)
			}
		}
		var reads []*httptest.ResponseRecorder
		for range 4 {
			reads = append(reads, read("a"))
		}
		refused("the fifth read of a caller", read("a"), "4 of one caller")
		for range 4 {
			reads = append(reads, read("b"), read("c"), read("d"))
		}
		refused("the seventeenth read", read("e"), "at most 16 requests")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i, w := range reads {
			if w.Code != http.StatusOK {
				t.Errorf("read %d = %d, want 200", i, w.Code)
			}
		}
		if n := d.server.scans.Size(); n != 0 {
			t.Errorf("%d reads are left, want none", n)
		}
	})
}

// A read of the history may wait for its turn, but not for ever.
func TestHistoryTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		store := d.server.store
		d.server.store = longHistory{store, 14 * time.Second}
		if r := d.send("GET", "/v1/history", ""); r.status != http.StatusOK {
			t.Errorf("a read of 14 s = %d, want 200", r.status)
		}
		d.server.store = longHistory{store, 16 * time.Second}
		d.send("GET", "/v1/history", "").wantProblem(http.StatusGatewayTimeout, "store_timeout")
	})
}

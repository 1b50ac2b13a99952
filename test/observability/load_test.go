//go:build unix

package observability

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// load is what programs do to a server, counted.
type load struct {
	t      *testing.T
	server *server
	app    *app

	round     int
	counts    map[string]float64
	heldSince time.Time
	direct    *recorder
	client    *http.Client
	blobs     *blobs
}

func newLoad(t *testing.T, s *server, a *app) *load {
	l := &load{t: t, server: s, app: a, direct: newRecorder()}
	t.Cleanup(l.direct.next.CloseIdleConnections)
	l.client = &http.Client{Transport: l.direct}
	l.blobs = newBlobs(t, s.blob)
	l.call(http.MethodPut, "/v1/config/auto_expire_enabled", `{"value":false}`, http.StatusOK) // so that there is something to clean up
	return l
}

// reset starts the counts anew.
func (l *load) reset() {
	l.counts = map[string]float64{}
	l.app.mu.Lock()
	clear(l.app.calls)
	l.app.events = nil
	l.app.mu.Unlock()
	for _, r := range []*recorder{l.direct, l.app.requests} {
		r.mu.Lock()
		clear(r.counts)
		r.mu.Unlock()
	}
}

// run makes one round. Nothing is left over but what is held and waits on purpose.
func (l *load) run() {
	l.t.Helper()
	l.round++
	l.reset()
	l.grants(20)
	l.conflicts(7)
	l.timeouts(3)
	l.handOver(2)
	l.failures(4)
	l.slow(3)
	l.failedRenewals(5)
	l.broken(2)
	l.outage()
	l.background()
	l.refused()
	l.operate()
	l.blobs.run()
}

func (l *load) name(kind string, i int) string { return fmt.Sprintf("%s-%d-%d", kind, l.round, i) }

func (l *load) check(what string, err, want error) {
	l.t.Helper()
	if !errors.Is(err, want) {
		l.t.Fatalf("%s = %v, want %v", what, err, want)
	}
}

func (l *load) acquire(resource string, options ...leasehold.AcquireOptions) *leasehold.Held {
	l.t.Helper()
	held, err := l.app.manager.TryAcquire(l.t.Context(), resource, options...)
	l.check("TryAcquire("+resource+")", err, nil)
	l.counts["acquired"]++
	return held
}

func (l *load) release(held *leasehold.Held) {
	l.t.Helper()
	l.check("Release", held.Release(l.t.Context()), nil)
	l.counts["released"]++
}

func (l *load) grants(n int) {
	for i := range n {
		held := l.acquire(l.name("free", i))
		for range 3 {
			l.check("Renew", held.Renew(l.t.Context()), nil)
			l.counts["renewed"]++
		}
		l.release(held)
	}
}

func (l *load) conflicts(n int) {
	held := l.acquire(l.name("busy", 0))
	for range n {
		_, err := l.app.manager.TryAcquire(l.t.Context(), held.Resource())
		l.check("TryAcquire of a held resource", err, leasehold.ErrHeld)
		l.counts["conflicts"]++
	}
	l.release(held)
}

func (l *load) timeouts(n int) {
	held := l.acquire(l.name("long", 0))
	for range n {
		_, err := l.app.manager.Acquire(l.t.Context(), held.Resource(), leasehold.AcquireOptions{Timeout: 100 * time.Millisecond})
		l.check("Acquire with a timeout", err, leasehold.ErrTimeout)
		l.counts["timeouts"]++
	}
	l.release(held)
}

// wait acquires in the background, and returns when that is in the queue.
func (l *load) wait(ctx context.Context, resource string) <-chan *leasehold.Held {
	l.t.Helper()
	queued, granted := l.queueOf(resource), make(chan *leasehold.Held, 1)
	go func() {
		held, err := l.app.manager.Acquire(ctx, resource, leasehold.AcquireOptions{Timeout: leasehold.NoTimeout})
		if err != nil && ctx.Err() == nil {
			l.t.Errorf("Acquire(%s) = %v", resource, err)
		}
		granted <- held
	}()
	eventually(l.t, resource+" has a waiter more", func() bool { return l.queueOf(resource) == queued+1 })
	return granted
}

func (l *load) queueOf(resource string) int {
	l.t.Helper()
	var status struct {
		Waiters []json.RawMessage
	}
	if err := json.Unmarshal(l.call(http.MethodGet, "/v1/resource?resource="+resource, "", http.StatusOK), &status); err != nil {
		l.t.Fatal(err)
	}
	return len(status.Waiters)
}

func (l *load) handOver(n int) {
	held := l.acquire(l.name("next", 0))
	for range n {
		granted := l.wait(l.t.Context(), held.Resource())
		l.release(held)
		if held = <-granted; held == nil {
			l.t.FailNow()
		}
		l.counts["waited"]++
	}
	l.release(held)
}

func (l *load) failures(n int) {
	l.app.inject(func(c chaos.Call) chaos.Fault { return only(c, chaos.OpAcquire, chaos.Unavailable) })
	defer l.app.inject(nil)
	for i := range n {
		_, err := l.app.manager.TryAcquire(l.t.Context(), l.name("down", i))
		l.check("TryAcquire without a store", err, leasehold.ErrUnavailable)
		l.counts["failures"]++
	}
}

// slowBy puts an acquisition beyond the objective, and below the alert's limit on a
// machine that is not too busy.
const slowBy = 600 * time.Millisecond

func (l *load) slow(n int) {
	l.app.inject(func(c chaos.Call) chaos.Fault { return only(c, chaos.OpAcquire, chaos.Delay(slowBy)) })
	defer l.app.inject(nil)
	for i := range n {
		l.release(l.acquire(l.name("slow", i)))
		l.counts["slow"]++
	}
}

func (l *load) failedRenewals(n int) {
	held := l.acquire(l.name("shaky", 0))
	l.app.inject(func(c chaos.Call) chaos.Fault { return only(c, chaos.OpRenew, chaos.Unavailable) })
	for range n {
		l.check("Renew without a store", held.Renew(l.t.Context()), leasehold.ErrUnavailable)
		l.counts["renewals failed"]++
	}
	l.app.inject(nil)
	l.release(held)
}

// broken loses leases that an operator breaks.
func (l *load) broken(n int) {
	for i := range n {
		held := l.acquire(l.name("broken", i))
		l.call(http.MethodPost, "/v1/leases/break", fmt.Sprintf(`{"resource":%q,"break_period_seconds":0}`, held.Resource()), http.StatusAccepted)
		l.check("Renew of a broken lease", held.Renew(l.t.Context()), leasehold.ErrLost)
		l.counts["renewals lost"]++
		l.awaitLost(held)
	}
}

// outage loses a lease whose renewals do not reach the store.
func (l *load) outage() {
	held := l.acquire(l.name("cut", 0), leasehold.AcquireOptions{TTL: leasehold.MinTTL})
	l.app.inject(func(c chaos.Call) chaos.Fault { return only(c, chaos.OpRenew, chaos.Unavailable) })
	l.awaitLost(held)
	l.app.inject(nil)
	l.counts["renewals failed"] += l.app.eventsOf(held.Resource(), isFailed)
	l.counts["renewed"] += l.app.eventsOf(held.Resource(), isRenewed)
}

func (l *load) awaitLost(held *leasehold.Held) {
	l.t.Helper()
	eventually(l.t, held.Resource()+" is lost", func() bool { return l.app.eventsOf(held.Resource(), isLost) == 1 })
	l.counts["lost"]++
}

// background has a lease renewed by the Manager.
func (l *load) background() {
	held := l.acquire(l.name("kept", 0), leasehold.AcquireOptions{TTL: 3 * time.Second})
	eventually(l.t, "the Manager renews", func() bool { return l.app.eventsOf(held.Resource(), isRenewed) >= 1 })
	l.release(held)
	eventually(l.t, "the release is told", func() bool {
		return l.app.eventsOf(held.Resource(), func(e leasehold.Event) bool { _, ok := e.(leasehold.Released); return ok }) == 1
	})
	l.counts["renewed"] += l.app.eventsOf(held.Resource(), isRenewed)
	l.counts["renewals failed"] += l.app.eventsOf(held.Resource(), isFailed)
}

// refused makes requests that the server refuses.
func (l *load) refused() {
	for range 3 {
		l.call(http.MethodPost, "/v1/leases/acquire", `{"resource":""}`, http.StatusBadRequest)
	}
	for range 2 {
		l.call(http.MethodPost, "/v1/leases/renew", `{"lease_id":"00000000-0000-4000-8000-000000000000"}`, http.StatusNotFound)
	}
}

// operate lets leases end that only the cleanup notices, and asks for the health.
func (l *load) operate() {
	const resource, gone = "/v1/resource?resource=", 2
	for i := range gone {
		l.call(http.MethodPost, "/v1/leases/acquire", fmt.Sprintf(`{"resource":%q,"holder":"gone","ttl_seconds":1}`, l.name("gone", i)), http.StatusCreated)
		l.counts["direct"]++
	}
	eventually(l.t, "the leases have ended", func() bool {
		return !bytes.Contains(l.call(http.MethodGet, resource+l.name("gone", gone-1), "", http.StatusOK), []byte(`"status":"active"`))
	})
	l.call(http.MethodPost, "/v1/leases/cleanup", "", http.StatusOK)
	l.counts["cleanups"]++
	l.counts["expired"] += gone + 1 // that of outage
	l.call(http.MethodGet, "/health/leasing", "", http.StatusOK)
	l.counts["checks"]++
}

// historyRecords counts the records of the history, page by page.
func (l *load) historyRecords() (n float64) {
	l.t.Helper()
	for cursor := ""; ; {
		var page struct {
			History []json.RawMessage
			Cursor  string `json:"next_cursor"`
		}
		if err := json.Unmarshal(l.call(http.MethodGet, "/v1/history?limit=1000&cursor="+url.QueryEscape(cursor), "", http.StatusOK), &page); err != nil {
			l.t.Fatal(err)
		}
		n += float64(len(page.History))
		if cursor = page.Cursor; cursor == "" {
			return n
		}
	}
}

// hold leaves what gauges show: leases held, waiters for the first of them, an event
// stream.
func (l *load) hold(leases, waiters int) {
	l.t.Helper()
	l.heldSince = time.Now()
	for i := range leases {
		l.acquire(l.name("held", i))
	}
	ctx, stop := context.WithCancel(l.t.Context())
	for range waiters {
		ended := l.wait(ctx, l.name("held", 0))
		l.t.Cleanup(func() { <-ended })
	}
	l.t.Cleanup(stop)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.server.url+"/v1/events", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	stream, err := l.client.Do(request)
	if err != nil || stream.StatusCode != http.StatusOK {
		l.t.Fatalf("GET /v1/events = %v, %v", stream, err)
	}
	l.t.Cleanup(func() { stream.Body.Close() })
}

func (l *load) call(method, path, body string, want int) []byte {
	l.t.Helper()
	request, err := http.NewRequestWithContext(l.t.Context(), method, l.server.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		l.t.Fatal(err)
	}
	if method != http.MethodGet {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := l.client.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		l.t.Fatalf("%s %s = %s, want %d\n%s", method, path, response.Status, want, text)
	}
	return text
}

func only(c chaos.Call, op chaos.Op, f chaos.Fault) chaos.Fault {
	if c.Op != op {
		return chaos.Fault{}
	}
	return f
}

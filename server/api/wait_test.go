package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// pending is a request on its way.
type pending struct {
	*testing.T
	done   chan reply
	cancel context.CancelFunc
}

// startAcquire sends an acquire over the wire and returns when it waits or is answered.
func (d *driver) startAcquire(client *http.Client, body string) pending {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	p := pending{d.T, make(chan reply, 1), cancel}
	r := newRequest(d.T, ctx, "POST", "/v1/leases/acquire", body)
	go func() {
		defer close(p.done)
		answer, err := client.Do(r)
		if err != nil {
			return // cancelled
		}
		defer answer.Body.Close()
		var b bytes.Buffer
		if _, err := b.ReadFrom(answer.Body); err == nil {
			p.done <- reply{d.T, body, answer.StatusCode, answer.Header, b.Bytes()}
		}
	}()
	synctest.Wait()
	return p
}

func (p pending) reply() reply {
	p.Helper()
	r, ok := <-p.done
	if !ok {
		p.Fatal("the request got no answer")
	}
	return r
}

func blocking(holder, more string) string {
	return `{"resource":"r","holder":"` + holder + `","blocking":true` + more + `}`
}

func TestWaitersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		id := d.acquire("r", "first").LeaseID
		waiting := make([]pending, 100)
		for i := range waiting {
			waiting[i] = d.startAcquire(client, blocking(fmt.Sprintf("w%02d", i), `,"timeout_ms":3600000`))
		}
		urgent := d.startAcquire(client, blocking("urgent", `,"priority":5,"timeout_ms":3600000`))
		st := d.status("r")
		if len(st.Waiters) != 101 || st.Waiters[0].Holder != "urgent" || st.Waiters[1] != (wire.Place{Holder: "w00", Since: st.Waiters[1].Since, Position: 2}) {
			t.Fatalf("the queue is %+v, want urgent, w00 …", st.Waiters)
		}
		for i, p := range append([]pending{urgent}, waiting...) {
			time.Sleep(time.Second)
			d.release(id)
			g := want[wire.Grant](p.reply(), http.StatusCreated)
			if g.WaitedMS == nil || *g.WaitedMS != int64(i+1)*1000 {
				t.Fatalf("waiter %d waited %v ms, want %d", i, g.WaitedMS, (i+1)*1000)
			}
			id = g.LeaseID
		}
		if n := d.server.waiters.Size(); n != 0 {
			t.Errorf("%d waiters are left, want none", n)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		d.acquire("r", "a")
		began := time.Now()
		r := d.startAcquire(client, blocking("b", `,"timeout_ms":1500`)).reply()
		if p := r.wantProblem(http.StatusConflict, "acquire_timeout"); p.WaitedMS == nil || *p.WaitedMS != 1500 || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("after %v: %s, want it after 1.5 s with waited_ms", time.Since(began), r.body)
		}
		d.startAcquire(client, blocking("b", `,"timeout_ms":0`)).reply().wantProblem(http.StatusConflict, "lease_held")
		began = time.Now()
		d.startAcquire(client, blocking("b", ``)).reply().wantProblem(http.StatusConflict, "acquire_timeout")
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("a wait without timeout_ms took %v, want the setting's 30 s", took)
		}
		want[wire.Setting](d.send("PUT", "/v1/config/acquisition_timeout_ms", `{"value":0}`), http.StatusOK)
		d.startAcquire(client, blocking("b", ``)).reply().wantProblem(http.StatusConflict, "lease_held")
	})
}

func TestWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		g := d.acquire("r", "a")
		gone := d.startAcquire(client, blocking("gone", `,"timeout_ms":60000`))
		d.startAcquire(client, blocking("stays", `,"timeout_ms":60000`))
		gone.cancel()
		synctest.Wait()
		if w := d.status("r").Waiters; len(w) != 1 || w[0].Holder != "stays" || d.server.waiters.Size() != 1 {
			t.Fatalf("the queue is %+v, want the other one only", w)
		}
		d.release(g.LeaseID)
		synctest.Wait()
		if l := d.status("r").Lease; l.Holder != "stays" || l.Status != "active" {
			t.Errorf("the lease is %+v, want it held by the one who stayed", l)
		}
	})
}

func TestKeptPlaceAndSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		g := d.acquire("r", "a")
		mine := blocking("b", `,"timeout_ms":60000,"lease_id":"`+otherID+`"`)
		first := d.startAcquire(client, mine)
		other := d.startAcquire(client, blocking("c", `,"timeout_ms":60000`))
		first.cancel()
		synctest.Wait()
		time.Sleep(10 * time.Second)
		second := d.startAcquire(client, mine)
		third := d.startAcquire(client, mine)
		second.reply().wantProblem(http.StatusConflict, "superseded")
		d.release(g.LeaseID)
		if got := want[wire.Grant](third.reply(), http.StatusCreated); got.Holder != "b" {
			t.Errorf("the grant is %+v, want b in its old place", got)
		}
		d.release(otherID)
		want[wire.Grant](other.reply(), http.StatusCreated)
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		g := d.acquire("r", "a")
		waiting := []pending{d.startAcquire(client, blocking("b", `,"timeout_ms":60000`)), d.startAcquire(client, blocking("c", ``))}
		d.server.Drain()
		d.server.Drain()
		for _, p := range waiting {
			r := p.reply()
			problem := r.wantProblem(http.StatusServiceUnavailable, "store_unavailable")
			if !strings.Contains(problem.Detail, "shutting down") || r.header.Get("Retry-After") != "1" {
				t.Errorf("the answer is %s, Retry-After %q; want shutting down, 1", r.body, r.header.Get("Retry-After"))
			}
		}
		d.startAcquire(client, blocking("d", ``)).reply().wantProblem(http.StatusServiceUnavailable, "store_unavailable")
		want[wire.Lease](d.post("/v1/leases/renew", wire.RenewRequest{LeaseID: g.LeaseID}), http.StatusOK)
		if r := d.send("GET", "/health/ready", ""); r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), "shutting down") {
			t.Errorf("ready = %d %s, want 503", r.status, r.body)
		}
		d.release(g.LeaseID)
		if d.status("r").Locked {
			t.Error("a waiter that was let go has the lease, want nobody")
		}
	})
}

func TestWaiterLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, &Options{MaxWaiters: 3, MaxWaitersPerCaller: 2})
		_, client := d.listen()
		d.acquire("r", "a")
		for range 2 {
			d.startAcquire(client, blocking("b", `,"timeout_ms":60000`))
		}
		r := d.startAcquire(client, blocking("b", ``)).reply()
		r.wantProblem(http.StatusTooManyRequests, "rate_limited")
		if r.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After = %q, want 1", r.header.Get("Retry-After"))
		}
		d.caller = auth.Caller{Name: "somebody else", Roles: auth.Local.Roles}
		d.startAcquire(client, blocking("c", `,"timeout_ms":60000`))
		d.startAcquire(client, blocking("c", ``)).reply().wantProblem(http.StatusTooManyRequests, "rate_limited")
		time.Sleep(time.Minute + time.Second)
		d.startAcquire(client, blocking("c", `,"timeout_ms":1`)).reply().wantProblem(http.StatusConflict, "acquire_timeout")
	})
}

// A server's read and write timeouts are for reading and writing, not for
// waiting.
func TestServerTimeoutsSpareWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		l := pipenet.Listen()
		server := &http.Server{Handler: d, ReadTimeout: 5 * time.Second}
		go server.Serve(l)
		transport := &http.Transport{DialContext: l.Dial}
		defer server.Close()
		defer transport.CloseIdleConnections()
		g := d.acquire("r", "a")
		p := d.startAcquire(&http.Client{Transport: transport}, blocking("b", `,"timeout_ms":60000`))
		time.Sleep(20 * time.Second)
		d.release(g.LeaseID)
		want[wire.Grant](p.reply(), http.StatusCreated)
	})
}

func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		l, _ := d.listen()
		for _, fields := range []string{`"resource":"r"`, `"resources":["r","s"]`, `"resource":"r","lease_id":"` + otherID + `"`} {
			conn, err := l.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			body := `{"holder":"a",` + fields + `}`
			fmt.Fprintf(conn, "POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			synctest.Wait() // the grant is there; nobody reads the answer
			if !d.status("r").Locked {
				t.Fatal("nothing was granted")
			}
			conn.Close()
			synctest.Wait()
			if locked := d.status("r").Locked; locked != strings.Contains(fields, "lease_id") {
				t.Errorf("with %s the lease is held: %v, want it given back unless an id was proposed", fields, locked)
			}
		}
		h := want[wire.History](d.send("GET", "/v1/history?event=released", ""), http.StatusOK)
		var reasons []string
		for _, r := range h.History {
			reasons = append(reasons, r.Reason)
		}
		if diff := cmp.Diff([]string{"abandoned", "abandoned"}, reasons); diff != "" {
			t.Errorf("the reasons of releases: %s", diff)
		}
	})
}

// A client that reads its answer and closes at once keeps its lease.
func TestClosingAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		client.Transport.(*http.Transport).DisableKeepAlives = true
		for i := range 50 {
			r, err := client.Do(newRequest(t, t.Context(), "POST", "/v1/leases/acquire", fmt.Sprintf(`{"resource":"r%d","holder":"a"}`, i)))
			if err != nil {
				t.Fatal(err)
			}
			var g wire.Grant
			if err := json.NewDecoder(r.Body).Decode(&g); err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			synctest.Wait()
			if !d.status(g.Resource).Locked {
				t.Fatalf("the lease %d was given back, though its owner has the answer", i)
			}
		}
	})
}

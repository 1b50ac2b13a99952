package api

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// at asks for what was at a moment.
func (d *driver) at(t time.Time, more url.Values) wire.Past {
	d.Helper()
	q := url.Values{"time": {t.Format(time.RFC3339Nano)}}
	for k, v := range more {
		q[k] = v
	}
	return want[wire.Past](d.send("GET", "/v1/history/at?"+q.Encode(), ""), http.StatusOK)
}

// The list of leases at a moment, read later, is the list that was answered then.
func TestPastIsWhatWasListedThen(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			d := newDriver(t, nil, nil)
			random := rand.New(rand.NewPCG(seed, 1))
			pick := func(n int) int { return random.IntN(n) }
			var ids []string
			then := map[time.Time]string{}
			for range 60 {
				switch pick(5) {
				case 0, 1:
					id := leasehold.NewID().Reveal()
					ids = append(ids, id)
					in := wire.AcquireRequest{Resource: fmt.Sprint("r", pick(4)), Holder: fmt.Sprint("h", pick(3)), TTL: new(float64(1 + pick(9))), LeaseID: id}
					if pick(4) == 0 {
						in.Resource, in.Resources = "", []string{"r0", fmt.Sprint("r", 1+pick(3))}
					}
					d.post("/v1/leases/acquire", in)
				case 2:
					if len(ids) > 0 {
						d.post("/v1/leases/renew", wire.RenewRequest{LeaseID: ids[pick(len(ids))]})
					}
				case 3:
					if len(ids) > 0 {
						d.post("/v1/leases/release", wire.ReleaseRequest{LeaseID: ids[pick(len(ids))]})
					}
				case 4:
					d.post("/v1/leases/break", wire.BreakRequest{Resource: fmt.Sprint("r", pick(4)), Period: new(float64(pick(3)))})
				}
				time.Sleep(time.Duration(1+pick(1500)) * time.Millisecond)
				leases := want[wire.Leases](d.send("GET", "/v1/leases", ""), http.StatusOK)
				text := ""
				for _, l := range leases.Leases {
					text += fmt.Sprintln(l.Resource, l.Holder, l.Token, l.Status, l.Renewals, l.Claims, l.AcquiredAt, l.ExpiresAt)
				}
				then[time.Now()] = text
				time.Sleep(time.Millisecond)
			}
			for moment, want := range then {
				p := d.at(moment, nil)
				text := ""
				for _, l := range p.Leases {
					text += fmt.Sprintln(l.Resource, l.Holder, l.Token, l.Status, l.Renewals, l.Claims, *l.AcquiredAt, l.ExpiresAt)
				}
				if p.Known != "known" || text != want {
					t.Fatalf("seed %d: at %v it says (%s)\n%swant\n%s", seed, moment, p.Known, text, want)
				}
				for i := range 4 {
					name := fmt.Sprint("r", i)
					covers := slices.ContainsFunc(p.Leases, func(l wire.PastLease) bool {
						return l.Resource == name || slices.ContainsFunc(l.Claims, func(c wire.Claim) bool { return c.Pattern == name })
					})
					if one := d.at(moment, url.Values{"resource": {name}}); one.Known != "known" || one.Locked != covers {
						t.Fatalf("seed %d: %s at %v is %+v, want it locked: %v", seed, name, moment, one, covers)
					}
				}
			}
		})
	}
}

func TestPastWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		g := want[wire.Grant](d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "r", Holder: "a", TTL: new(600.0)}), http.StatusCreated)
		wait := func(holder string, ms int64) {
			go d.send("POST", "/v1/leases/acquire", fmt.Sprintf(`{"resource":"r","holder":%q,"ttl_seconds":60,"blocking":true,"timeout_ms":%d}`, holder, ms))
			time.Sleep(time.Second)
		}
		wait("b", 60_000)
		wait("c", 5_000)
		moment := time.Now()
		time.Sleep(10 * time.Second)
		d.post("/v1/leases/release", wire.ReleaseRequest{LeaseID: g.LeaseID})
		synctest.Wait()
		p := d.at(moment, url.Values{"resource": {"r"}})
		if len(p.Leases) != 1 || p.Leases[0].Holder != "a" || len(p.Waiters) != 2 {
			t.Fatalf("at %v it says %+v, want a lease of a and two waiters", moment, p)
		}
		b, c := p.Waiters[0], p.Waiters[1]
		if b.Holder != "b" || !b.Granted || !b.Since.Equal(moment.Add(-2*time.Second)) || !b.Until.Equal(moment.Add(10*time.Second)) {
			t.Errorf("the first waiter was %+v, want b, for 12 s, until its grant", b)
		}
		if c.Holder != "c" || c.Granted || c.Reason != "timeout" {
			t.Errorf("the second waiter was %+v, want c, until a timeout", c)
		}
	})
}

func TestPastBeforeTheRetainedHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "old", Holder: "a", TTL: new(-1.0)})
		d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "also old", Holder: "a", TTL: new(-1.0)})
		lost := time.Now()
		time.Sleep(time.Minute)
		d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "new", Holder: "b", TTL: new(-1.0)})
		kept := time.Now()
		time.Sleep(time.Minute)
		want[wire.Setting](d.send("PUT", "/v1/config/history_max_rows", `{"value":3}`), http.StatusOK)
		want[wire.Cleaned](d.send("POST", "/v1/leases/cleanup", ""), http.StatusOK)
		for _, c := range []struct {
			resource string
			at       time.Time
			known    string
		}{{"old", lost, "not_retained"}, {"old", kept, "not_retained"}, {"new", kept, "known"}, {"new", lost, "not_retained"}} {
			p := d.at(c.at, url.Values{"resource": {c.resource}})
			if p.Known != c.known || p.Known != "known" && (p.Reason == "" || p.Locked) || !p.Purged {
				t.Errorf("%s at %v = %+v, want %s", c.resource, c.at, p, c.known)
			}
			if p.From == nil || !p.From.Equal(kept) {
				t.Errorf("%s at %v: retained from %v, want %v", c.resource, c.at, p.From, kept)
			}
		}
		if p := d.at(lost, nil); p.Known != "not_retained" {
			t.Errorf("all at %v = %+v, want not_retained", lost, p)
		}
	})
}

func TestPastRefuses(t *testing.T) {
	d := newDriver(t, nil, nil)
	for query, field := range map[string]string{
		"": "time", "time=yesterday": "time", "time=9999-12-31T23:59:59Z": "time", "time=2026-01-01T00:00:00Z&limit=1001": "limit",
		"time=2026-01-01T00:00:00Z&cursor=x": "cursor", "time=2026-01-01T00:00:00Z&resource=r&prefix=p": "prefix",
		"time=2026-01-01T00:00:00Z&path=p": "namespace", "time=2026-01-01T00:00:00Z&resource=%00": "resource",
	} {
		r := d.send("GET", "/v1/history/at?"+query, "")
		if p := r.wantProblem(http.StatusBadRequest, "invalid_argument"); p.Field != field {
			t.Errorf("%q names the field %q, want %q: %s", query, p.Field, field, p.Detail)
		}
	}
	d.server.store = plain{d.server.store}
	d.send("GET", "/v1/history/at?time=2026-01-01T00:00:00Z", "").wantProblem(http.StatusNotImplemented, "unsupported")
	d.send("GET", "/v1/waits", "").wantProblem(http.StatusNotImplemented, "unsupported")
}

// The past counts as a read of the history.
func TestPastIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleReader}}
		d.server.store = longHistory{d.server.store, 2 * time.Second}
		for range 4 {
			go d.send("GET", "/v1/history/at?time=1999-12-31T00:00:00Z", "")
		}
		synctest.Wait()
		d.send("GET", "/v1/history/at?time=1999-12-31T00:00:00Z", "").wantProblem(http.StatusTooManyRequests, "rate_limited")
		d.send("GET", "/v1/history", "").wantProblem(http.StatusTooManyRequests, "rate_limited")
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

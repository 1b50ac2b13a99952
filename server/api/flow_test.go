package api

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

const otherID = "11111111-2222-4333-8444-555555555555"

func TestFlow(t *testing.T) {
	d := newDriver(t, nil, nil)
	first := want[wire.Grant](d.send("POST", "/v1/leases/acquire",
		`{"resource":"r","holder":"a","ttl_seconds":60.5,"metadata":{"k":"v"},"max_renewals":1}`), http.StatusCreated)
	if first.Token == 0 || first.Status != "active" || first.TTL != 60.5 || first.MaxRenewals != 1 || first.Metadata["k"] != "v" || first.LeaseID == "" || first.WaitedMS != nil {
		t.Errorf("acquire = %+v, want an active lease with all that was sent", first)
	}

	refused := d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"b"}`)
	p := refused.wantProblem(http.StatusConflict, "lease_held")
	if p.Current == nil || p.Current.Holder != "a" || p.Current.LeaseID != "" || p.Current.ExpiresAt == nil || p.RetryAfter == nil || p.Waiting == nil {
		t.Errorf("the refusal is %s, want who holds it until when, and no id", refused.body)
	}
	if got := refused.header.Get("Retry-After"); got != "61" {
		t.Errorf("Retry-After = %q, want 61: the seconds left, rounded up", got)
	}

	renew := `{"lease_id":"` + strings.ToUpper(first.LeaseID) + `"}`
	if l := want[wire.Lease](d.send("POST", "/v1/leases/renew", renew), http.StatusOK); l.Renewals != 1 || l.Token != first.Token {
		t.Errorf("renew = %+v, want one renewal and token %d", l, first.Token)
	}
	d.send("POST", "/v1/leases/renew", renew).wantProblem(http.StatusConflict, "max_renewals_exceeded")

	released := want[wire.Released](d.send("POST", "/v1/leases/release", renew), http.StatusOK)
	if !released.Success || released.Status != "released" {
		t.Errorf("release = %+v, want success and released", released)
	}
	d.send("POST", "/v1/leases/release", renew).wantProblem(http.StatusNotFound, "lease_released")
	d.send("POST", "/v1/leases/release", `{"lease_id":"`+otherID+`"}`).wantProblem(http.StatusNotFound, "lease_not_found")

	if second := d.acquire("r", "b"); second.Token <= first.Token {
		t.Errorf("the second token is %d, want more than %d", second.Token, first.Token)
	}
}

// TestHistoryOfTheYearOne: a bound of the year 1 is one. Nothing is before it.
func TestHistoryOfTheYearOne(t *testing.T) {
	d := newDriver(t, nil, nil)
	d.acquire("r", "a")
	for query, records := range map[string]int{
		"": 1, "since=0001-01-01T00:00:00Z": 1, "until=0001-01-01T00:00:00Z": 0, "until=0001-01-01T01:00:00%2B01:00": 0,
		"until=0000-01-01T00:00:00Z": 0, "since=9999-12-31T23:59:59Z": 0, "until=9999-12-31T23:59:59Z": 1,
	} {
		if h := want[wire.History](d.send("GET", "/v1/history?"+query, ""), http.StatusOK); len(h.History) != records {
			t.Errorf("history with %q has %d records, want %d", query, len(h.History), records)
		}
	}
	for _, query := range []string{"until=", "until=10000-01-01T00:00:00Z", "since=-0001-01-01T00:00:00Z", "limit=0", "limit="} {
		d.send("GET", "/v1/history?"+query, "").wantProblem(http.StatusBadRequest, "invalid_argument")
	}
}

func TestAliases(t *testing.T) {
	d := newDriver(t, nil, nil)
	g := want[wire.Grant](d.send("POST", "/v1/leases/acquire", `{"resource":"r","agent_id":"a","duration":-1}`), http.StatusCreated)
	if g.Holder != "a" || g.TTL != -1 || g.ExpiresAt != nil {
		t.Errorf("acquire = %+v, want holder a and no end", g)
	}
	l := want[wire.Lease](d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","agent_id":"a","duration":5}`), http.StatusOK)
	if l.TTL != 5 {
		t.Errorf("renew with duration 5 = %+v, want ttl_seconds 5", l)
	}
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","agent_id":"b"}`).wantProblem(http.StatusForbidden, "holder_mismatch")
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","token":999}`).wantProblem(http.StatusNotFound, "token_mismatch")
}

func TestIdempotentAcquire(t *testing.T) {
	d := newDriver(t, nil, nil)
	body := `{"resource":"r","holder":"a","lease_id":"` + otherID + `"}`
	first := want[wire.Grant](d.send("POST", "/v1/leases/acquire", body), http.StatusCreated)
	again := want[wire.Grant](d.send("POST", "/v1/leases/acquire", body), http.StatusOK)
	if !again.Idempotent || again.Token != first.Token || again.Renewals != 1 {
		t.Errorf("acquire again = %+v, want idempotent with token %d", again, first.Token)
	}
	d.send("POST", "/v1/leases/acquire", `{"resource":"s","holder":"a","lease_id":"`+otherID+`"}`).wantProblem(http.StatusConflict, "lease_id_in_use")
	d.release(otherID)
	d.send("POST", "/v1/leases/acquire", body).wantProblem(http.StatusConflict, "lease_released")
}

func TestChangeTransferGetCheck(t *testing.T) {
	d := newDriver(t, nil, nil)
	g := d.acquire("r", "a")
	changed := want[wire.Lease](d.post("/v1/leases/change", wire.ChangeRequest{LeaseID: g.LeaseID, Proposed: otherID}), http.StatusOK)
	if changed.LeaseID != otherID || changed.Token != g.Token {
		t.Errorf("change = %+v, want the new id and the old token", changed)
	}
	moved := want[wire.Lease](d.post("/v1/leases/transfer", wire.TransferRequest{LeaseID: otherID, To: "b"}), http.StatusOK)
	if moved.Holder != "b" || moved.LeaseID == "" || moved.LeaseID == otherID || moved.Token <= g.Token {
		t.Errorf("transfer = %+v, want holder b with a new id and token", moved)
	}
	secret := "99999999-2222-4333-8444-555555555555"
	kept := want[wire.Lease](d.post("/v1/leases/transfer", wire.TransferRequest{LeaseID: moved.LeaseID, To: "c", Proposed: secret}), http.StatusOK)
	if kept.LeaseID != "" {
		t.Errorf("transfer to a proposed id = %+v, want it not echoed", kept)
	}
	d.post("/v1/leases/transfer", wire.TransferRequest{LeaseID: secret, To: "c"}).wantProblem(http.StatusBadRequest, "invalid_argument")
	got := want[wire.Lease](d.post("/v1/leases/get", wire.GetRequest{LeaseID: secret}), http.StatusOK)
	if got.LeaseID != secret || got.Holder != "c" {
		t.Errorf("get = %+v, want the lease of c", got)
	}
	d.post("/v1/leases/get", wire.GetRequest{LeaseID: "22222222-2222-4333-8444-555555555555"}).wantProblem(http.StatusNotFound, "lease_not_found")

	for token, current := range map[uint64]bool{kept.Token: true, g.Token: false} {
		c := want[wire.Checked](d.post("/v1/leases/check", wire.CheckRequest{Resource: "r", Token: token}), http.StatusOK)
		if diff := cmp.Diff(wire.Checked{Current: current, Status: "active", Token: kept.Token}, c); diff != "" {
			t.Errorf("check(%d): %s", token, diff)
		}
	}
	c := want[wire.Checked](d.post("/v1/leases/check", wire.CheckRequest{Resource: "unheard of", Token: 1}), http.StatusOK)
	if diff := cmp.Diff(wire.Checked{Status: "available"}, c); diff != "" {
		t.Errorf("check of a resource never leased: %s", diff)
	}
}

func TestBreakAndForce(t *testing.T) {
	d := newDriver(t, nil, nil)
	d.acquire("r", "a")
	b := want[wire.Broken](d.send("POST", "/v1/leases/break", `{"resource":"r","break_period_seconds":30,"reason":"why not"}`), http.StatusAccepted)
	if b.Remaining <= 29 || b.Remaining > 30 || b.Lease.Status != "breaking" || b.Lease.LeaseID != "" {
		t.Errorf("break = %+v, want breaking for 30 s and no id", b)
	}
	r := d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"b"}`)
	r.wantProblem(http.StatusConflict, "lease_breaking")
	if got := r.header.Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After = %q, want 30", got)
	}
	b = want[wire.Broken](d.send("POST", "/v1/leases/break", `{"resource":"r"}`), http.StatusAccepted)
	if b.Remaining != 0 || b.Lease.Status != "broken" {
		t.Errorf("break = %+v, want broken at once", b)
	}
	d.send("POST", "/v1/leases/break", `{"resource":"r"}`).wantProblem(http.StatusNotFound, "lease_broken")
	d.send("POST", "/v1/leases/break", `{"resource":"never"}`).wantProblem(http.StatusNotFound, "lease_not_found")

	for _, name := range []string{"x", "y", "z"} {
		d.acquire(name, "team/a b")
	}
	f := want[wire.Forced](d.send("POST", "/v1/holders/team%2Fa%20b/release", `{"reason":"gone"}`), http.StatusOK)
	if f.Released != 3 {
		t.Errorf("force-release = %+v, want 3", f)
	}
	if f = want[wire.Forced](d.send("POST", "/v1/holders/team/a%20b/release", ""), http.StatusOK); f.Released != 0 {
		t.Errorf("force-release again = %+v, want 0", f)
	}
	h := want[wire.History](d.send("GET", "/v1/history?event=force_released&holder=team/a+b", ""), http.StatusOK)
	if len(h.History) != 3 || h.History[0].Reason != "gone" || h.History[0].Before != "active" || h.History[0].After != "released" {
		t.Errorf("history = %+v, want three releases because gone", h)
	}
	if !strings.Contains(d.log.String(), "force-released a holder") {
		t.Error("the log does not tell of the force-release")
	}
}

func TestConfig(t *testing.T) {
	d := newDriver(t, nil, nil)
	all := want[wire.Settings](d.send("GET", "/v1/config", ""), http.StatusOK)
	if len(all.Settings) != len(leasehold.DefaultSettings()) {
		t.Errorf("config has %d settings, want %d", len(all.Settings), len(leasehold.DefaultSettings()))
	}
	set := want[wire.Setting](d.send("PUT", "/v1/config/default_ttl_seconds", `{"value":7}`), http.StatusOK)
	if set.Value != 7.0 || set.Key != "default_ttl_seconds" || *set.Min != 1 {
		t.Errorf("set = %+v, want 7", set)
	}
	if g := d.acquire("r", "a"); g.TTL != 7 {
		t.Errorf("acquire after the change = %v s, want 7", g.TTL)
	}
	for path, body := range map[string]string{
		"default_ttl_seconds": `{"value":0}`, "keep_history": `{"value":1}`, "max_renewals": `{"value":"5"}`,
		"no_such%2F..%2Fkey": `{"value":1}`, "": `{"value":1}`, "cleanup_interval_seconds": `{}`, "history_max_rows": `{"value":1.5}`,
	} {
		d.send("PUT", "/v1/config/"+path, body).wantProblem(http.StatusBadRequest, "invalid_argument")
	}
	want[wire.Setting](d.send("PUT", "/v1/config/blocking_mode_enabled", `{"value":false}`), http.StatusOK)
	for _, timeout := range []string{``, `,"timeout_ms":0`, `,"timeout_ms":1000`} {
		d.send("POST", "/v1/leases/acquire", `{"resource":"s","holder":"a","blocking":true`+timeout+`}`).wantProblem(http.StatusConflict, "blocking_disabled")
	}
	want[wire.Cleaned](d.send("POST", "/v1/leases/cleanup", ""), http.StatusOK)
	want[wire.Cleaned](d.send("POST", "/v1/leases/cleanup", "{}"), http.StatusOK)
}

func TestList(t *testing.T) {
	d := newDriver(t, nil, nil)
	for _, name := range []string{"prod:a", "prod:b", "prod:c", "test:a"} {
		want[wire.Grant](d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: name, Holder: "h:" + name[5:],
			Metadata: map[string]string{"region": "us-east-1", "n.o-de": name[5:]}}), http.StatusCreated)
	}
	d.release(d.acquire("prod:gone", "h:gone").LeaseID)
	names := func(query string) string {
		t.Helper()
		var all []string
		for _, l := range want[wire.Leases](d.send("GET", "/v1/leases"+query, ""), http.StatusOK).Leases {
			if l.LeaseID != "" {
				t.Errorf("list%s carries an id", query)
			}
			all = append(all, l.Resource)
		}
		return strings.Join(all, " ")
	}
	for query, expected := range map[string]string{
		"":            "prod:a prod:b prod:c test:a",
		"?prefix=pro": "prod:a prod:b prod:c", "?resource=prod:b": "prod:b", "?holder=h:a": "prod:a test:a",
		"?metadata.region=us-east-1&prefix=prod:&metadata.n.o-de=c": "prod:c", "?metadata.region=eu": "",
		"?status=released": "prod:gone", "?status=released,active&prefix=prod:": "prod:a prod:b prod:c prod:gone",
		"?status=released&status=breaking": "prod:gone", "?limit=2": "prod:a prod:b",
	} {
		if got := names(query); got != expected {
			t.Errorf("list%s = %q, want %q", query, got, expected)
		}
	}
	page := want[wire.Leases](d.send("GET", "/v1/leases?limit=3", ""), http.StatusOK)
	if got := names("?limit=3&cursor=" + queryEscape(page.NextCursor)); got != "test:a" {
		t.Errorf("the second page is %q, want test:a", got)
	}
	if h := want[wire.History](d.send("GET", "/v1/history?prefix=prod:&limit=1&since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00%2B02:00", ""), http.StatusOK); len(h.History) != 1 || h.NextCursor == "" || h.History[0].Event != "released" {
		t.Errorf("history = %+v, want the release and another page", h)
	}
}

func TestTwoHundredAtOnce(t *testing.T) {
	d := newDriver(t, nil, nil)
	var all sync.WaitGroup
	statuses := make(chan int, 200)
	for range 200 {
		all.Go(func() { statuses <- d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"h"}`).status })
	}
	all.Wait()
	close(statuses)
	granted := map[int]int{}
	for s := range statuses {
		granted[s]++
	}
	if diff := cmp.Diff(map[int]int{201: 1, 409: 199}, granted); diff != "" {
		t.Errorf("200 acquires of one name: %s", diff)
	}
}

// plain is a store without any optional power.
type plain struct{ leasehold.Store }

func TestUnsupported(t *testing.T) {
	t.Run("without the methods", func(t *testing.T) { testUnsupported(t, plain{memory.New()}) })
	t.Run("as a wrapper says it", func(t *testing.T) { testUnsupported(t, chaos.Wrap(plain{memory.New()}, nil)) })
}

func testUnsupported(t *testing.T, store leasehold.Store) {
	d := newDriver(t, store, nil)
	g := d.acquire("r", "a")
	id := `{"lease_id":"` + g.LeaseID + `"`
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/leases/acquire", `{"resource":"r","holder":"b","blocking":true}`},
		{"POST", "/v1/leases/change", id + `,"proposed_lease_id":"` + otherID + `"}`},
		{"POST", "/v1/leases/transfer", id + `,"to_holder":"b"}`},
		{"POST", "/v1/leases/get", id + `}`},
		{"POST", "/v1/leases/break", `{"resource":"r"}`},
		{"POST", "/v1/leases/cleanup", ``},
		{"POST", "/v1/holders/a/release", ``},
		{"PUT", "/v1/config/max_renewals", `{"value":1}`},
		{"GET", "/v1/leases", ``}, {"GET", "/v1/history", ``}, {"GET", "/v1/config", ``}, {"GET", "/v1/events", ``}, {"GET", "/v1/backup", ``},
	} {
		d.send(c.method, c.path, c.body).wantProblem(http.StatusNotImplemented, "unsupported")
	}
	d.release(g.LeaseID)
	if log := d.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("what a store lacks is no failure of the server, but the log says\n%s", log)
	}
}

// TestRenewKeepsTTLAndExpiredIsNotReleased: a renewal keeps the last ttl, and a
// lease that expired cannot be released: the work under it may have overlapped with another's.
func TestRenewKeepsTTLAndExpiredIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		id := d.acquire("r", "a").LeaseID
		for _, ttl := range []string{`,"ttl_seconds":7.5`, ``} {
			l := want[wire.Owned](d.send("POST", "/v1/leases/renew", `{"lease_id":"`+id+`"`+ttl+`}`), http.StatusOK)
			if l.TTL != 7.5 {
				t.Errorf("renew with %q = ttl %v, want 7.5", ttl, l.TTL)
			}
		}
		time.Sleep(8 * time.Second)
		d.send("POST", "/v1/leases/release", `{"lease_id":"`+id+`"}`).wantProblem(http.StatusNotFound, "lease_expired")
	})
}

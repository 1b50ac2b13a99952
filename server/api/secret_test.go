package api

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

var uuid = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)

// Nothing that the server writes during a full run has a lease id in it, except
// the answers to those who own one.
func TestNoSecretLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		events := d.watch(client, "", "")
		fullRun(d, client)
		streamed := events.seen()
		events.cancel()
		if len(streamed) < 10 {
			t.Fatalf("the stream has %d lines; the run was none", len(streamed))
		}
		noUUID(t, "the stream", strings.Join(streamed, "\n"))
		noUUID(t, "the log", d.log.String())
		owners := regexp.MustCompile(`^POST /v1/leases/(acquire|renew|release|change|transfer|get|batch)$`)
		seen := 0
		for _, r := range d.replies {
			if owners.MatchString(r.request) && r.status < 300 {
				seen++
				continue
			}
			if r.request == "GET /docs" || r.request == "GET /openapi.json" {
				continue // whose examples are nobody's
			}
			noUUID(t, r.request, string(r.body))
		}
		if seen < 6 {
			t.Errorf("the run had %d answers to owners; it was none", seen)
		}
	})
}

// fullRun uses every call, rightly and wrongly.
func fullRun(d *driver, client *http.Client) {
	g := d.acquire("r", "a")
	id := `{"lease_id":"` + g.LeaseID + `"`
	waiter := d.startAcquire(client, blocking("w", `,"timeout_ms":1000`))
	second := "33333333-2222-4333-8444-555555555555"
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/leases/acquire", `{"resource":"r","holder":"b"}`},
		{"POST", "/v1/leases/acquire", `{"resources":["m","n"],"holder":"b","lease_id":"44444444-2222-4333-8444-555555555555"}`},
		{"POST", "/v1/leases/acquire", `{"resources":["n","o"],"holder":"c","lease_id":"55555555-2222-4333-8444-555555555555"}`},
		{"POST", "/v1/leases/acquire", `{"resource":"n","mode":"shared","holder":"c","lease_id":"44444444-2222-4333-8444-555555555555"}`},
		{"GET", "/v1/leases/n", ``},
		{"GET", "/v1/leases?resource=m", ``},
		{"POST", "/v1/leases/release", `{"lease_id":"44444444-2222-4333-8444-555555555555","note":"n"}`},
		{"POST", "/v1/leases/acquire", `{"resource":"s","holder":"b","lease_id":"` + g.LeaseID + `"}`},
		{"POST", "/v1/leases/acquire", `{"resource":"s","holder":"b","lease_id":"` + g.LeaseID + `x"}`},
		{"POST", "/v1/leases/acquire", `{"resource":"s","holder":"b","priority":"` + g.LeaseID + `"}`},
		{"POST", "/v1/leases/renew", id + `}`},
		{"POST", "/v1/leases/renew", id + `,"holder":"z"}`},
		{"POST", "/v1/leases/renew", id + `,"token":77}`},
		{"POST", "/v1/leases/renew", id},
		{"POST", "/v1/leases/batch", `{"operations":[{"op":"renew","request":` + id + `}},{"op":"renew","request":` + id + `,"holder":"z"}}]}`},
		{"POST", "/v1/leases/batch", `{"operations":[{"op":"renew","request":` + id + `}},{"op":"` + g.LeaseID + `","request":` + id + `}}]}`},
		{"POST", "/v1/leases/change", id + `,"proposed_lease_id":"` + otherID + `"}`},
		{"POST", "/v1/leases/transfer", `{"lease_id":"` + otherID + `","to_holder":"b","proposed_lease_id":"` + second + `"}`},
		{"POST", "/v1/leases/get", `{"lease_id":"` + second + `"}`},
		{"POST", "/v1/leases/check", `{"resource":"r","token":1}`},
		{"GET", "/v1/leases", ""}, {"GET", "/v1/leases?status=active,released,expired,broken", ""}, {"GET", "/v1/leases/r", ""}, {"GET", "/v1/resource?resource=r", ""},
		{"POST", "/v1/leases/break", `{"resource":"r","break_period_seconds":1,"reason":"because"}`},
		{"POST", "/v1/leases/renew", `{"lease_id":"` + second + `"}`},
		{"POST", "/v1/leases/break", `{"resource":"r"}`},
		{"POST", "/v1/leases/release", `{"lease_id":"` + second + `"}`},
		{"POST", "/v1/leases/acquire", `{"resource":"t","holder":"b"}`},
		{"POST", "/v1/holders/b/release", ""},
		{"POST", "/v1/leases/cleanup", ""}, {"GET", "/v1/config", ""}, {"PUT", "/v1/config/max_renewals", `{"value":5}`},
		{"GET", "/v1/history", ""}, {"GET", "/healthz", ""}, {"GET", "/health/ready", ""}, {"GET", "/health/leasing", ""}, {"GET", "/docs", ""}, {"GET", "/openapi.json", ""},
		{"GET", "/v1/leases/get/" + g.LeaseID, ""}, {"GET", "/v1/leases?cursor=" + g.LeaseID, ""}, {"POST", "/nowhere/" + g.LeaseID, ""}, {"DELETE", "/v1/leases/" + g.LeaseID, ""},
	} {
		r := d.send(c.method, c.path, c.body)
		if strings.Contains(c.path, g.LeaseID) {
			forget(d) // it may tell the sender what the sender said
		}
		if r.status >= 500 {
			d.Errorf("%s = %d %s", r.request, r.status, r.body)
		}
	}
	waiter.reply()
	third := want[wire.Grant](d.send("POST", "/v1/leases/acquire", `{"resource":"u","holder":"c","ttl_seconds":1}`), http.StatusCreated)
	time.Sleep(2 * time.Second)
	d.post("/v1/leases/renew", wire.RenewRequest{LeaseID: third.LeaseID}).wantProblem(http.StatusNotFound, "lease_expired")
}

// forget drops the last reply.
func forget(d *driver) { d.replies = d.replies[:len(d.replies)-1] }

func noUUID(t *testing.T, where, text string) {
	t.Helper()
	if found := uuid.FindString(text); found != "" {
		t.Errorf("%s has a lease id in it: %s", where, text)
	}
}

// leaking is a store that breaks the rule and tells ids to everybody.
type leaking struct{ leasehold.Store }

func (s leaking) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	current := leasehold.Lease{ID: leasehold.NewID(), Resource: r.Resource, Holder: "x"}
	return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Current: &current}
}

func (s leaking) Break(context.Context, leasehold.BreakRequest) (leasehold.Lease, error) {
	return leasehold.Lease{ID: leasehold.NewID(), State: leasehold.StateBroken}, nil
}

func TestCarelessStore(t *testing.T) {
	d := newDriver(t, plain{newDriver(t, nil, nil).server.store}, nil)
	d.server.store = leaking{}
	noUUID(t, "acquire", string(d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"a"}`).body))
	noUUID(t, "break", string(d.send("POST", "/v1/leases/break", `{"resource":"r"}`).body))
	noUUID(t, "the log", d.log.String())
}

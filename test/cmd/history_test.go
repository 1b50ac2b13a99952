//go:build unix

package cmd_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// The history has each step, with the state before and after.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	id := s.acquire("r", "a", "").at("lease_id")
	s.post("/v1/leases/renew", `{"lease_id":"`+id+`"}`).want(http.StatusOK)
	const changed, moved = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	s.post("/v1/leases/change", `{"lease_id":"`+id+`","proposed_lease_id":"`+changed+`"}`).want(http.StatusOK)
	s.post("/v1/leases/transfer", `{"lease_id":"`+changed+`","to_holder":"b","proposed_lease_id":"`+moved+`"}`).want(http.StatusOK)
	s.release(moved)
	s.acquire("r", "c", "")
	s.post("/v1/leases/break", `{"resource":"r","break_period_seconds":30,"reason":"drain"}`).want(http.StatusAccepted)
	s.post("/v1/leases/break", `{"resource":"r"}`).want(http.StatusAccepted)
	s.acquire("r", "d", `,"ttl_seconds":1`)
	time.Sleep(1100 * time.Millisecond) // the ttl, by a real clock
	s.acquire("r", "e", "")

	h := s.send(http.MethodGet, "/v1/history?resource=r", "").want(http.StatusOK)
	want := []string{ // newest first
		"acquired expired active e", "expired active expired d", "acquired broken active d",
		"broken breaking broken c", "breaking active breaking c", "acquired released active c",
		"released active released b", "transferred active active b", "changed active active a",
		"renewed active active a", "acquired available active a",
	}
	for i, w := range want {
		at := func(field string) string { return h.at(fmt.Sprintf("history.%d.%s", i, field)) }
		if got := at("event") + " " + at("status_before") + " " + at("status_after") + " " + at("holder"); got != w {
			t.Errorf("record %d is %q, want %q", i, got, w)
		}
		if i > 0 && h.number(fmt.Sprintf("history.%d.seq", i-1)) != h.number(fmt.Sprintf("history.%d.seq", i))+1 {
			t.Errorf("between records %d and %d is a gap in %s", i-1, i, h.body)
		}
	}
	if n := h.size("history"); n != len(want) || h.at("history.4.reason") != "drain" {
		t.Errorf("the history has %d records, want %d, one of them because of drain: %s", n, len(want), h.body)
	}
}

// Records beyond the limit are purged, the oldest first, and one record says so.
func TestRetention(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	for i := range 10 {
		s.release(s.acquire(fmt.Sprint("r", i), "a", "").at("lease_id"))
	}
	s.send(http.MethodPut, "/v1/config/history_max_rows", `{"value":5}`).want(http.StatusOK)
	var h answer
	process.Eventually(t, "the history is tidied", func() bool { // by the change itself, or by the cleanup here
		s.post("/v1/leases/cleanup", "").want(http.StatusOK)
		h = s.send(http.MethodGet, "/v1/history", "").want(http.StatusOK)
		return h.at("history.0.event") == "purged"
	})
	purges := 0.0
	for i := range h.size("history") {
		if h.at(fmt.Sprintf("history.%d.event", i)) == "purged" {
			purges += h.number(fmt.Sprintf("history.%d.details.count", i))
		}
	}
	if n := h.size("history"); n > 6 || purges < 16 { // the record of the purge comes on top
		t.Errorf("the history has %d records and tells of %v that are gone: %s, want 5 and the purge of 16", n, purges, h.body)
	}
	if old := s.send(http.MethodGet, "/v1/history?resource=r0", "").want(http.StatusOK); old.size("history") != 0 {
		t.Errorf("the oldest records are still there: %s", old.body)
	}
	// Tokens go on: they are not counted from the history.
	if g := s.acquire("r0", "a", ""); g.number("token") != 11 {
		t.Errorf("the token after the purge is %s, want 11", g.at("token"))
	}
}

// Amid the traffic of others, every lease of one holder ends in one step.
func TestForceRelease(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	const leases = 50
	for i := range leases {
		s.acquire(fmt.Sprint("lost:", i), "gone", "")
	}
	stop, others := make(chan struct{}), sync.WaitGroup{}
	for i := range 4 {
		others.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					_, _ = s.trySend(t.Context(), http.MethodPost, "/v1/leases/acquire", acquireBody(fmt.Sprintf("other:%d:%d", i, n), "here", ""))
				}
			}
		})
	}
	f := s.post("/v1/holders/gone/release", `{"reason":"machine lost"}`)
	close(stop)
	others.Wait()
	if f.want(http.StatusOK).at("released") != fmt.Sprint(leases) {
		t.Errorf("force-release = %s, want %d released", f.body, leases)
	}
	h := s.send(http.MethodGet, "/v1/history?event=force_released&limit=1000", "").want(http.StatusOK)
	if n := h.size("history"); n != leases {
		t.Fatalf("the history has %d force-released leases, want %d", n, leases)
	}
	newest, oldest := h.number("history.0.seq"), h.number(fmt.Sprintf("history.%d.seq", leases-1))
	if newest-oldest != leases-1 || h.at("history.0.at") != h.at(fmt.Sprintf("history.%d.at", leases-1)) {
		t.Errorf("the records run from %v to %v, want %d in a row and of one moment", oldest, newest, leases)
	}
	if h.at("history.7.reason") != "machine lost" || h.at("history.7.status_before") != "active" || h.at("history.7.status_after") != "released" {
		t.Errorf("a record is %s, want its reason and active → released", h.at("history.7"))
	}
	if l := s.send(http.MethodGet, "/v1/leases?holder=gone", "").want(http.StatusOK); l.size("leases") != 0 {
		t.Errorf("after the force-release there is %s, want nothing", l.body)
	}
}

func TestMetadataQuery(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	for resource, region := range map[string]string{"prod:a": "us-east-1", "prod:b": "eu-west-1", "test:a": "us-east-1"} {
		s.acquire(resource, "h", `,"metadata":{"region":"`+region+`","team":"x"}`)
	}
	s.acquire("prod:c", "h", "")
	l := s.send(http.MethodGet, "/v1/leases?metadata.region=us-east-1&prefix=prod:", "").want(http.StatusOK)
	if l.size("leases") != 1 || l.at("leases.0.resource") != "prod:a" || l.at("leases.0.metadata.team") != "x" {
		t.Errorf("the list is %s, want prod:a alone", l.body)
	}
	both := s.send(http.MethodGet, "/v1/leases?metadata.region=us-east-1&metadata.team=x", "").want(http.StatusOK)
	if both.size("leases") != 2 {
		t.Errorf("with two pairs the list is %s, want prod:a and test:a", both.body)
	}
}

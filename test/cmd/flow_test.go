//go:build unix

package cmd_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A new user's first minutes, with nothing but HTTP.
func TestFlow(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	first := s.acquire("deploy:prod", "ci:42", `,"ttl_seconds":60`)
	mine := `{"lease_id":"` + first.at("lease_id") + `"}`

	refused := s.post("/v1/leases/acquire", acquireBody("deploy:prod", "ci:43", "")).wantCode(http.StatusConflict, "lease_held")
	if left := refused.number("current.remaining_seconds"); refused.at("current.holder") != "ci:42" || left < 40 || left > 60 {
		t.Errorf("the refusal is %s, want that ci:42 holds it for another minute", refused.body)
	}
	ends, err := time.Parse(time.RFC3339, refused.at("current.expires_at"))
	if left := time.Until(ends); err != nil || left < 40*time.Second || left > 61*time.Second {
		t.Errorf("the refusal says that the lease ends at %q, want in a minute", refused.at("current.expires_at"))
	}
	if after := refused.header.Get("Retry-After"); after < "40" || after > "60" || !strings.Contains(refused.at("detail"), "ci:42") {
		t.Errorf("Retry-After is %q and the detail %q, want the seconds left, and the holder", after, refused.at("detail"))
	}

	if renewed := s.post("/v1/leases/renew", mine).want(http.StatusOK); renewed.at("renewals") != "1" || renewed.at("token") != first.at("token") {
		t.Errorf("renew = %s, want one renewal and the same token", renewed.body)
	}
	if released := s.post("/v1/leases/release", mine).want(http.StatusOK); released.at("success") != "true" {
		t.Errorf("release = %s, want success", released.body)
	}
	second := s.acquire("deploy:prod", "ci:43", "")
	if second.number("token") <= first.number("token") {
		t.Errorf("the tokens are %s and then %s, want them to grow", first.at("token"), second.at("token"))
	}
	s.post("/v1/leases/release", mine).want(http.StatusNotFound)
	s.post("/v1/leases/release", `{"lease_id":"00000000-0000-4000-8000-000000000001"}`).wantCode(http.StatusNotFound, "lease_not_found")
	if st := s.status("deploy:prod"); st.at("lease.holder") != "ci:43" || st.at("locked") != "true" {
		t.Errorf("after the wrong releases the status is %s, want ci:43 to hold it", st.body)
	}
}

// An expired lease can be acquired without a cleanup.
func TestExpiredLeaseIsFree(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	s.send(http.MethodPut, "/v1/config/auto_expire_enabled", `{"value":false}`).want(http.StatusOK)
	s.send(http.MethodPut, "/v1/config/cleanup_interval_seconds", `{"value":86400}`).want(http.StatusOK)
	first := s.acquire("r", "a", "")
	s.post("/v1/leases/acquire", acquireBody("r", "b", "")).wantCode(http.StatusConflict, "lease_held")
	s.post("/v1/leases/renew", `{"lease_id":"`+first.at("lease_id")+`","ttl_seconds":1}`).want(http.StatusOK)
	time.Sleep(1100 * time.Millisecond) // the ttl, by a real clock
	if st := s.status("r"); st.at("locked") != "false" || st.at("lease.status") != "expired" {
		t.Errorf("after its ttl the lease is %s, want it expired", st.body)
	}
	if second := s.acquire("r", "b", ""); second.number("token") <= first.number("token") {
		t.Errorf("the token after the expiry is %s, want more than %s", second.at("token"), first.at("token"))
	}
	s.post("/v1/leases/renew", `{"lease_id":"`+first.at("lease_id")+`"}`).want(http.StatusNotFound)
}

func TestAliasesAndUnknownFields(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	g := s.post("/v1/leases/acquire", `{"resource":"r","agent_id":"claude:7f3","duration":90}`).want(http.StatusCreated)
	if g.at("holder") != "claude:7f3" || g.at("ttl_seconds") != "90" {
		t.Errorf("acquire with aliases = %s, want holder claude:7f3 for 90 s", g.body)
	}
	renewed := s.post("/v1/leases/renew", `{"lease_id":"`+g.at("lease_id")+`","agent_id":"claude:7f3","duration":-1}`).want(http.StatusOK)
	if renewed.at("ttl_seconds") != "-1" || renewed.at("expires_at") != "" {
		t.Errorf("renew with aliases = %s, want no end", renewed.body)
	}
	for _, body := range []string{`{"resource":"s","holder":"a","tll_seconds":5}`, `{"resource":"s","agent_id":"a","tll_seconds":null}`} {
		p := s.post("/v1/leases/acquire", body).wantCode(http.StatusBadRequest, "invalid_argument")
		if !strings.Contains(p.at("detail"), "tll_seconds") {
			t.Errorf("%s = %s, want the unknown field by its name", body, p.body)
		}
	}
	if st := s.status("s"); st.at("lease") != "" {
		t.Errorf("after the refusals the status is %s, want nothing stored", st.body)
	}
}

func TestMaxRenewals(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	mine := `{"lease_id":"` + s.acquire("r", "a", `,"max_renewals":2`).at("lease_id") + `"}`
	for range 2 {
		s.post("/v1/leases/renew", mine).want(http.StatusOK)
	}
	s.post("/v1/leases/renew", mine).wantCode(http.StatusConflict, "max_renewals_exceeded")
	if st := s.status("r"); st.at("lease.renewals") != "2" || st.at("locked") != "true" {
		t.Errorf("the status is %s, want two renewals, and the lease to stand", st.body)
	}
}

func TestBreakTransferCheck(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	g := s.acquire("r", "a", "")
	check := func(token, current string) {
		t.Helper()
		if c := s.post("/v1/leases/check", `{"resource":"r","token":`+token+`}`).want(http.StatusOK); c.at("current") != current {
			t.Errorf("check of token %s = %s, want current %s", token, c.body, current)
		}
	}
	check(g.at("token"), "true")

	moved := s.post("/v1/leases/transfer", `{"lease_id":"`+g.at("lease_id")+`","to_holder":"b"}`).want(http.StatusOK)
	if moved.at("holder") != "b" || moved.number("token") <= g.number("token") || moved.at("lease_id") == g.at("lease_id") {
		t.Errorf("transfer = %s, want b with a new id and a larger token", moved.body)
	}
	check(g.at("token"), "false")
	check(moved.at("token"), "true")
	s.post("/v1/leases/renew", `{"lease_id":"`+g.at("lease_id")+`"}`).wantCode(http.StatusNotFound, "lease_released")

	broken := s.post("/v1/leases/break", `{"resource":"r","break_period_seconds":1,"reason":"drain"}`).want(http.StatusAccepted)
	if left := broken.number("remaining_seconds"); left <= 0 || left > 1 {
		t.Errorf("break = %s, want a second left", broken.body)
	}
	p := s.post("/v1/leases/renew", `{"lease_id":"`+moved.at("lease_id")+`"}`).wantCode(http.StatusConflict, "lease_breaking")
	if p.at("remaining_seconds") == "" {
		t.Errorf("the refusal is %s, want remaining_seconds", p.body)
	}
	// The next in line has it when the period is over, and not before.
	next := s.post("/v1/leases/acquire", acquireBody("r", "c", `,"blocking":true,"timeout_ms":20000`)).want(http.StatusCreated)
	if next.number("waited_ms") <= 0 || next.number("token") <= moved.number("token") {
		t.Errorf("the grant is %s, want one that waited, with a larger token", next.body)
	}
	check(moved.at("token"), "false")
	s.post("/v1/leases/break", `{"resource":"nobody's"}`).wantCode(http.StatusNotFound, "lease_not_found")
}

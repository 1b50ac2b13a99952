//go:build unix

package cmd_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// hold acquires, renews, changes, transfers and releases, rightly and wrongly.
func (r *scenario) hold() {
	s := r.s
	first := s.acquire("r", "a", `,"metadata":{"task":"x"}`).at("lease_id")
	s.post("/v1/leases/acquire", acquireBody("r", "b", "")).wantCode(http.StatusConflict, "lease_held")
	s.post("/v1/leases/acquire", acquireBody("s", "a", `,"lease_id":"`+first+`"`)).wantCode(http.StatusConflict, "lease_id_in_use")
	mine := r.propose("1")
	s.acquire("t", "a", `,"max_renewals":1,"lease_id":"`+mine+`"`)
	s.post("/v1/leases/acquire", acquireBody("t", "a", `,"lease_id":"`+mine+`"`)).want(http.StatusOK)
	s.post("/v1/leases/renew", `{"lease_id":"`+mine+`"}`).wantCode(http.StatusConflict, "max_renewals_exceeded")
	s.post("/v1/leases/renew", `{"lease_id":"`+first+`"}`).want(http.StatusOK)
	s.post("/v1/leases/renew", `{"lease_id":"`+first+`","holder":"z"}`).wantCode(http.StatusForbidden, "holder_mismatch")
	s.post("/v1/leases/renew", `{"lease_id":"`+first+`","token":9999}`).want(http.StatusNotFound)
	changed, moved := r.propose("2"), r.propose("3")
	s.post("/v1/leases/change", `{"lease_id":"`+first+`","proposed_lease_id":"`+changed+`"}`).want(http.StatusOK)
	s.post("/v1/leases/change", `{"lease_id":"`+changed+`","proposed_lease_id":"`+mine+`"}`).wantCode(http.StatusConflict, "lease_id_in_use")
	s.post("/v1/leases/transfer", `{"lease_id":"`+changed+`","to_holder":"b","proposed_lease_id":"`+moved+`"}`).want(http.StatusOK)
	again := s.post("/v1/leases/transfer", `{"lease_id":"`+moved+`","to_holder":"c"}`).want(http.StatusOK).at("lease_id")
	s.post("/v1/leases/get", `{"lease_id":"`+again+`"}`).want(http.StatusOK)
	s.post("/v1/leases/get", `{"lease_id":"`+r.propose("4")+`"}`).want(http.StatusNotFound)
	s.post("/v1/leases/check", `{"resource":"r","token":1}`).want(http.StatusOK)
	s.release(mine)
	s.post("/v1/leases/acquire", acquireBody("t", "a", `,"lease_id":"`+mine+`"`)).wantCode(http.StatusConflict, "lease_released")
	s.post("/v1/leases/release", `{"lease_id":"`+mine+`"}`).want(http.StatusNotFound)
}

// queue ends waits in every way.
func (r *scenario) queue() {
	s := r.s
	id := s.acquire("q", "a", "").at("lease_id")
	mine := r.propose("5")
	older := s.join("q", "b", `,"lease_id":"`+mine+`"`+patient, 1)
	newer := s.wait("q", "b", `,"lease_id":"`+mine+`"`+patient)
	s.answered(older).wantCode(http.StatusConflict, "superseded")
	gone := s.join("q", "gone", patient, 2)
	s.answered(s.wait("q", "hasty", `,"timeout_ms":50`)).wantCode(http.StatusConflict, "acquire_timeout")
	gone.cancel()
	<-gone.done
	s.release(id)
	s.answered(newer).want(http.StatusCreated)
	last := s.join("q", "c", patient, 1)
	s.release(mine)
	s.release(s.answered(last).want(http.StatusCreated).at("lease_id"))
}

// operate ends the leases of others.
func (r *scenario) operate() {
	s, ops := r.s, r.ops
	id := s.acquire("o", "a", "").at("lease_id")
	r.post(ops, "break", `{"resource":"o","break_period_seconds":30,"reason":"drain"}`).want(http.StatusAccepted)
	s.post("/v1/leases/renew", `{"lease_id":"`+id+`"}`).wantCode(http.StatusConflict, "lease_breaking")
	s.post("/v1/leases/acquire", acquireBody("o", "b", "")).wantCode(http.StatusConflict, "lease_breaking")
	r.post(ops, "break", `{"resource":"o"}`).want(http.StatusAccepted)
	s.post("/v1/leases/release", `{"lease_id":"`+id+`"}`).wantCode(http.StatusNotFound, "lease_broken")
	short := s.acquire("short", "a", `,"ttl_seconds":1`).at("lease_id")
	time.Sleep(1100 * time.Millisecond) // the ttl, by a real clock
	s.post("/v1/leases/renew", `{"lease_id":"`+short+`"}`).wantCode(http.StatusNotFound, "lease_expired")
	for i := range 3 {
		s.acquire(fmt.Sprint("lost:", i), "lost", "")
	}
	ops.post("/v1/holders/lost/release", `{"reason":"machine lost"}`).want(http.StatusOK)
	r.post(ops, "cleanup", "").want(http.StatusOK)
	ops.send(http.MethodPut, "/v1/config/max_renewals", `{"value":100}`).want(http.StatusOK)
}

// cli runs a command with a caller's token and records what it wrote.
func (r *scenario) cli(who string, want int, args ...string) (out string) {
	s := r.s
	s.t.Helper()
	code, out, err := s.cli([]string{"LEASEHOLD_AUTH_TOKEN=" + r.secret[who]}, args...)
	if code != want {
		s.t.Errorf("leasehold %q = %d, want %d; it said %s%s", args, code, want, out, err)
	}
	r.addPublic(fmt.Sprintf("leasehold %q, on standard error", args), err)
	return out
}

// commands does the same with the program's own client.
func (r *scenario) commands() {
	s := r.s
	quiet := func(who string, want int, args ...string) {
		s.t.Helper()
		r.addPublic(fmt.Sprintf("leasehold %q", args), r.cli(who, want, args...))
	}
	owned := func(args ...string) string { // the owner's own output has the id
		s.t.Helper()
		out := r.cli("owner", 0, args...)
		id := someUUID.FindString(out)
		if id == "" {
			s.t.Fatalf("leasehold %q = %s, want the owner's id in it", args, out)
		}
		return r.addID(id)
	}
	id := owned("acquire", "cli", "--holder", "a", "--ttl", "5m")
	other := owned("acquire", "cli:json", "--holder", "a", "--json")
	quiet("owner", 1, "acquire", "cli", "--holder", "b")
	quiet("owner", 1, "acquire", "cli", "--holder", "b", "--json")
	quiet("owner", 75, "acquire", "cli", "--holder", "b", "--wait", "0.4")
	quiet("owner", 1, "run", "-n", "cli", "--", "true")
	quiet("owner", 0, "renew", "--lease-id", id)
	quiet("owner", 77, "renew", "--lease-id", id, "--holder", "z")
	quiet("owner", 64, "renew", "--lease-id", id+"0")
	quiet("owner", 64, "renew", "--lease-id", id+"0", "--json")
	moved := owned("transfer", "--lease-id", id, "--to", "b")
	quiet("owner", 79, "release", "--lease-id", id)
	quiet("owner", 79, "release", "--lease-id", id, "--json")
	quiet("owner", 0, "release", "--lease-id", moved)
	quiet("owner", 77, "list")
	quiet("reader", 77, "renew", "--lease-id", other)
	for _, form := range [][]string{nil, {"--json"}} {
		for _, look := range [][]string{
			{"status", "cli"}, {"status", "cli:json"}, {"status", "cli", "--token", "1"}, {"list"}, {"list", "--status", "released", "--status", "active"},
			{"history", "--all"}, {"watch", "--after", "1", "--count", "30"}, {"wait", "cli"}, {"config", "list"}, {"health"},
		} {
			want := 0
			if len(look) == 4 && look[2] == "--token" {
				want = 79
			}
			quiet("reader", want, append(look, form...)...)
		}
	}
	quiet("ops", 0, "break", "cli:json", "--json")
	quiet("nobody", 77, "list")

	// The command of a run may know the id, with --export-lease-id; ps may not.
	file := filepath.Join(s.t.TempDir(), "id")
	const showID = `printf %s "$LEASEHOLD_LEASE_ID" >"$0"; ps -o args= -p $PPID; ps -ef`
	quiet("owner", 0, "run", "--verbose", "--export-lease-id", "cli", "--", "sh", "-c", showID, file)
	r.addID(process.Read(s.t, file))
	quiet("owner", 0, "run", "--verbose", "cli", "--", "sh", "-c", `env | grep LEASEHOLD_ | grep -v AUTH; ps -o args= -p $PPID`)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		quiet("owner", 79, "run", "--verbose", "--ttl", "3s", "cli:lost", "--", "sleep", "600")
	}()
	process.Eventually(s.t, "the run holds its lease", func() bool { return s.status("cli:lost").at("locked") == "true" })
	r.post(r.ops, "break", `{"resource":"cli:lost"}`).want(http.StatusAccepted)
	<-lost
}

// misplace sends an id in wrong places, except where it would become the name of
// something. The answer may repeat what its sender sent, so only the server's other
// output is searched.
func (r *scenario) misplace() {
	s := r.s
	id := s.acquire("m", "a", "").at("lease_id")
	for _, who := range []*client{s.client, r.ops, r.reader, r.nobody} {
		sender := s.as(who.secret, nil)
		for _, path := range []string{
			"/v1/leases/" + id, "/v1/leases/get/" + id, "/" + id, "/v1/leases/" + strings.ToUpper(id) + "/renew", "/v1/resource?resource=" + id,
			"/v1/leases?cursor=" + id, "/v1/leases?lease_id=" + id, "/v1/leases?" + id, "/v1/leases?metadata." + id + "=x", "/v1/history?holder=" + id,
			"/v1/history?since=" + id, "/v1/events?after=" + id, "/v1/config/" + id, "/%" + id, "/v1/leases/renew?lease_id=" + url.QueryEscape(id) + ";x",
		} {
			sender.send(http.MethodGet, path, "")
			sender.send(http.MethodPut, path, `{"value":1}`)
			sender.send(http.MethodDelete, path, "")
		}
		for _, body := range []string{
			`{"resource":"n","holder":"a","lease_id":"` + id + `x"}`, `{"resource":"n","holder":"a","lease_id":["` + id + `"]}`,
			`{"resource":"n","holder":"a","priority":"` + id + `"}`, `{"resource":"n","holder":"a","` + id + `":1}`, `{"lease_id":"` + id + `"`, `"` + id + `"`, id,
			`{"resource":"n","holder":"a","metadata":{"k":{"` + id + `":1}}}`,
		} {
			sender.send(http.MethodPost, "/v1/leases/acquire", body)
		}
		sender.send(http.MethodPost, "/v1/leases/break", `{"lease_id":"`+id+`"}`)
		sender.send(http.MethodPost, "/v1/holders/"+id+"/releases", "")
		for _, header := range []string{"Last-Event-ID", "Content-Type", "If-Match", "Cookie", "User-Agent", "Referer", "Origin", "Host"} {
			if _, err := sender.trySend(s.t.Context(), http.MethodPost, "/v1/leases/check", `{}`, header, id); err != nil {
				s.t.Errorf("%s: %v", header, err)
			}
		}
		wrong := s.as(id, nil)
		wrong.send(http.MethodGet, "/v1/leases", "")
	}
}

// look reads everything there is to read, as every caller.
func (r *scenario) look() {
	r.s.acquire("left", "a", "")
	r.s.acquire("left:too", "b", `,"ttl_seconds":-1`)
	r.ops.send(http.MethodPut, "/v1/config/history_max_rows", `{"value":60}`).want(http.StatusOK)
	for _, who := range []*client{r.reader, r.ops, r.s.client, r.nobody} {
		for _, path := range []string{
			"/v1/leases", "/v1/leases?status=active,breaking,released,expired,broken", "/v1/leases/r", "/v1/leases/left", "/v1/resource?resource=q", "/v1/history?limit=1000",
			"/v1/config", "/metrics", "/healthz", "/health/live", "/health/ready", "/health/leasing", "/openapi.json", "/docs",
		} {
			who.send(http.MethodGet, path, "")
		}
	}
	for _, list := range []string{"/v1/history?limit=7", "/v1/leases?limit=2&status=active,released,expired,broken"} {
		pages := 1
		for next := "first"; next != ""; pages++ {
			page := list
			if next != "first" {
				page += "&cursor=" + url.QueryEscape(next)
			}
			next = r.reader.send(http.MethodGet, page, "").want(http.StatusOK).at("next_cursor")
		}
		if pages < 3 {
			r.s.t.Errorf("%s has %d pages, want several", list, pages)
		}
	}
}

package api

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// TestTooManyLeases: the limits of all and of one caller are kept at the API,
// where a caller is a token, whatever holders it acts for.
func TestTooManyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		acquire := func(caller, resource, more string) reply {
			t.Helper()
			d.caller = auth.Caller{Name: caller, Roles: []auth.Role{auth.RoleHolder}}
			if caller == "local" {
				d.caller = auth.Local
			}
			return d.send("POST", "/v1/leases/acquire", `{"resource":"`+resource+`","holder":"h-`+resource+`","ttl_seconds":60`+more+`}`)
		}
		set := func(key, value string) {
			t.Helper()
			d.caller = auth.Local
			want[any](d.send("PUT", "/v1/config/"+key, `{"value":`+value+`}`), http.StatusOK)
		}
		set("max_leases_per_caller", "2")
		for _, resource := range []string{"a", "b"} {
			want[any](acquire("one", resource, ""), http.StatusCreated)
		}
		r := acquire("one", "c", "")
		p := r.wantProblem(http.StatusTooManyRequests, "too_many_leases")
		if p.Field != "max_leases_per_caller" || p.Problem != "2" || !strings.Contains(p.Detail, "max_leases_per_caller 2") {
			t.Errorf("the third lease of a caller = %s, want the setting and its value", r.body)
		}
		if got := r.header.Get("Retry-After"); got != "60" {
			t.Errorf("Retry-After = %q, want 60, when the next lease ends", got)
		}
		acquire("one", "c", `,"blocking":true`).wantProblem(http.StatusTooManyRequests, "too_many_leases")
		want[any](acquire("two", "c", ""), http.StatusCreated) // somebody else has all of its own
		want[any](acquire("local", "d", ""), http.StatusCreated)

		set("max_leases", "5")
		want[any](acquire("two", "e", ""), http.StatusCreated)
		if p := acquire("three", "f", "").wantProblem(http.StatusTooManyRequests, "too_many_leases"); p.Field != "max_leases" {
			t.Errorf("the sixth lease of all names %q, want max_leases", p.Field)
		}
		time.Sleep(time.Minute)
		want[any](acquire("one", "f", ""), http.StatusCreated)
	})
}

// TestMaxTTL: a ttl above the setting is refused with acquire and with renew,
// and the setting is effective at once.
func TestMaxTTL(t *testing.T) {
	d := newDriver(t, nil, nil)
	acquire := func(resource, ttl string) reply {
		t.Helper()
		return d.send("POST", "/v1/leases/acquire", `{"resource":"`+resource+`","holder":"h","ttl_seconds":`+ttl+`}`)
	}
	p := acquire("r", "604801").wantProblem(http.StatusBadRequest, "invalid_argument")
	if p.Field != "ttl_seconds" || p.Problem != "is 604801; want 1 to 604800, or -1 for no end" {
		t.Errorf("a ttl above seven days: %s %s", p.Field, p.Problem)
	}
	lease := want[wire.Grant](acquire("r", "604800"), http.StatusCreated)
	renew := func(ttl string) reply {
		t.Helper()
		return d.send("POST", "/v1/leases/renew", `{"lease_id":"`+lease.LeaseID+`","ttl_seconds":`+ttl+`}`)
	}
	renew("604800.001").wantProblem(http.StatusBadRequest, "invalid_argument")
	want[any](d.send("PUT", "/v1/config/max_ttl_seconds", `{"value":3153600000}`), http.StatusOK)
	want[any](renew("3153600000"), http.StatusOK)
	renew("3153600000.001").wantProblem(http.StatusBadRequest, "invalid_argument")
	want[any](acquire("endless", "-1"), http.StatusCreated)
}

func TestLogLevel(t *testing.T) {
	var level slog.LevelVar
	d := newDriver(t, nil, &Options{LogLevel: &level})
	if got := want[wire.LogLevel](d.send("GET", "/v1/log-level", ""), http.StatusOK); got.Level != "info" {
		t.Errorf("the level is %q, want info", got.Level)
	}
	for _, c := range []struct {
		name  string
		level slog.Level
	}{{"debug", slog.LevelDebug}, {"error", slog.LevelError}, {"warn", slog.LevelWarn}, {"info", slog.LevelInfo}} {
		got := want[wire.LogLevel](d.send("PUT", "/v1/log-level", `{"level":"`+c.name+`"}`), http.StatusOK)
		if got.Level != c.name || level.Level() != c.level {
			t.Errorf("PUT %s = %q, and the level is %v", c.name, got.Level, level.Level())
		}
		if line := "msg=\"changed the log level\""; !strings.Contains(d.log.String(), line) || !strings.Contains(d.log.String(), "to="+c.name) {
			t.Errorf("the log has no line of the change to %s:\n%s", c.name, d.log)
		}
	}
	for _, body := range []string{`{"level":"loud"}`, `{}`, `{"level":""}`, `{"level":"DEBUG"}`} {
		if p := d.send("PUT", "/v1/log-level", body).wantProblem(http.StatusBadRequest, "invalid_argument"); p.Field != "level" {
			t.Errorf("PUT %s: the field is %q, want level", body, p.Field)
		}
	}
	if level.Level() != slog.LevelInfo {
		t.Errorf("a wrong level changed it to %v", level.Level())
	}
	d = newDriver(t, nil, nil)
	d.send("GET", "/v1/log-level", "").wantProblem(http.StatusNotImplemented, "unsupported")
	d.send("PUT", "/v1/log-level", `{"level":"info"}`).wantProblem(http.StatusNotImplemented, "unsupported")
}

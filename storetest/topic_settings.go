package storetest

import (
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

var settingChecks = []check{
	{name: "DefaultsAreListed", run: settingDefaults, needs: []Capability{Settings}},
	{name: "AreReadBack", run: settingsReadBack, needs: []Capability{Settings}},
	{name: "BadValuesAreRefused", run: settingsInvalid, needs: []Capability{Settings}},
	{name: "ChangesAreRecorded", run: settingsRecorded, needs: []Capability{Settings, History}},
	{name: leasehold.SettingDefaultTTL, run: settingDefaultTTL, needs: []Capability{Settings}},
	{name: leasehold.SettingMaxRenewals, run: settingMaxRenewals, needs: []Capability{Settings, MaxRenewals}},
	{name: leasehold.SettingAcquireTimeout, run: settingAcquireTimeout, needs: []Capability{Settings, Waiting}},
	{name: leasehold.SettingBlocking, run: settingBlocking, needs: []Capability{Settings, Waiting}},
	{name: leasehold.SettingMaxTTL, run: settingMaxTTL, needs: []Capability{Settings}},
	{name: leasehold.SettingMaxLeases, run: settingMaxLeases, needs: []Capability{Settings}},
	{name: leasehold.SettingMaxLeasesCaller, run: settingMaxLeasesCaller, needs: []Capability{Settings}},
	{name: "LimitsAndTheQueue", run: limitsAndQueue, needs: []Capability{Settings, Waiting}},
	{name: "LimitsSurviveReopen", run: limitsSurvive, needs: []Capability{Settings}, reopens: true},
	{name: "SurviveReopen", run: settingsSurvive, needs: []Capability{Settings}, reopens: true},
}

// set changes a setting or ends the check.
func (e *env) set(key string, value any) leasehold.Setting {
	e.Helper()
	s, err := power[leasehold.Configurer](e).SetSetting(e.Context(), key, value)
	if err != nil {
		e.Fatalf("SetSetting(%s, %v) = %v, want success", key, value, err)
	}
	return s
}

func (e *env) settings() []leasehold.Setting {
	e.Helper()
	all, err := power[leasehold.Configurer](e).Settings(e.Context())
	if err != nil {
		e.Fatalf("Settings = %v, want success", err)
	}
	return all
}

// setting expects a setting to have a value.
func (e *env) setting(key string, want any) {
	e.Helper()
	for _, s := range e.settings() {
		if s.Key == key {
			if s.Value != want {
				e.Errorf("Settings: %s = %v (%T), want %v", key, s.Value, s.Value, want)
			}
			return
		}
	}
	e.Errorf("Settings has no %s", key)
}

func settingDefaults(e *env) {
	if got, want := e.settings(), leasehold.DefaultSettings(); !slices.Equal(got, want) {
		e.Errorf("Settings of a new store = %+v, want %+v", got, want)
	}
}

func settingsReadBack(e *env) {
	for _, s := range leasehold.DefaultSettings() {
		var value any = s.Value == false
		if n, ok := s.Value.(int64); ok {
			value = n + 1
		}
		if got := e.set(s.Key, value); got.Key != s.Key || got.Value != value || got.Default != s.Default || got.Description == "" {
			e.Errorf("SetSetting(%s, %v) = %+v", s.Key, value, got)
		}
		e.setting(s.Key, value)
		e.set(s.Key, s.Default)
		e.setting(s.Key, s.Default)
	}
	e.set(leasehold.SettingDefaultTTL, 60) // any integer will do
	e.setting(leasehold.SettingDefaultTTL, int64(60))
	e.set(leasehold.SettingDefaultTTL, 61.0) // and a float as JSON has it
	e.setting(leasehold.SettingDefaultTTL, int64(61))
	e.gaps = true // history was off for a moment
}

func settingsInvalid(e *env) {
	for _, bad := range []struct {
		key   string
		value any
		field string
	}{
		{"no_such_key", 1, "key"},
		{"", 1, "key"},
		{"DEFAULT_TTL_SECONDS", 1, "key"},
		{leasehold.SettingDefaultTTL, 0, leasehold.SettingDefaultTTL},
		{leasehold.SettingDefaultTTL, -1, leasehold.SettingDefaultTTL},
		{leasehold.SettingDefaultTTL, 3_153_600_001, leasehold.SettingDefaultTTL},
		{leasehold.SettingMaxTTL, 0, leasehold.SettingMaxTTL},
		{leasehold.SettingMaxTTL, -1, leasehold.SettingMaxTTL},
		{leasehold.SettingMaxTTL, 3_153_600_001, leasehold.SettingMaxTTL},
		{leasehold.SettingMaxLeases, -2, leasehold.SettingMaxLeases},
		{leasehold.SettingMaxLeasesCaller, -2, leasehold.SettingMaxLeasesCaller},
		{leasehold.SettingDefaultTTL, 1.5, leasehold.SettingDefaultTTL},
		{leasehold.SettingDefaultTTL, "60", leasehold.SettingDefaultTTL},
		{leasehold.SettingDefaultTTL, true, leasehold.SettingDefaultTTL},
		{leasehold.SettingDefaultTTL, nil, leasehold.SettingDefaultTTL},
		{leasehold.SettingMaxRenewals, -2, leasehold.SettingMaxRenewals},
		{leasehold.SettingAcquireTimeout, -1, leasehold.SettingAcquireTimeout},
		{leasehold.SettingKeepHistory, 1, leasehold.SettingKeepHistory},
		{leasehold.SettingKeepHistory, "false", leasehold.SettingKeepHistory},
	} {
		_, err := power[leasehold.Configurer](e).SetSetting(e.Context(), bad.key, bad.value)
		e.invalid("SetSetting("+bad.key+")", err, bad.field)
	}
	settingDefaults(e)
	if e.h.can(History) {
		if n := len(ReadHistory(e.TB, e.store)); n != 0 {
			e.Errorf("%d history records of refused settings", n)
		}
	}
}

func settingsRecorded(e *env) {
	e.set(leasehold.SettingDefaultTTL, 60)
	e.set(leasehold.SettingBlocking, false)
	records := readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindConfigured})
	if len(records) != 2 {
		e.Fatalf("%d records of 2 changed settings", len(records))
	}
	for i, want := range []map[string]string{
		{"key": leasehold.SettingDefaultTTL, "value": "60", "before": "300"},
		{"key": leasehold.SettingBlocking, "value": "false", "before": "true"},
	} {
		for k, v := range want {
			if got := records[i].Details[k]; got != v {
				e.Errorf("record of a changed setting: %s = %q, want %q", k, got, v)
			}
		}
	}
}

func settingDefaultTTL(e *env) {
	seconds := int64(e.h.MinTTL/time.Second) + 1
	e.set(leasehold.SettingDefaultTTL, seconds)
	want := time.Duration(seconds) * time.Second
	g := e.grant(leasehold.AcquireRequest{Resource: "r", Holder: "h"})
	if g.TTL != want || !e.about(g.Remaining, want) {
		e.Errorf("Acquire without a ttl = %v, want %v", g.TTL, want)
	}
	if g := e.acquire("s", "h"); g.TTL != e.long {
		e.Errorf("Acquire with a ttl = %v, want %v: it is a default, no cap", g.TTL, e.long)
	}
	if l := e.renewFor(g.Lease, e.long); e.renew(l).TTL != e.long {
		e.Error("Renew without a ttl takes the default, want the lease's own")
	}
}

func settingMaxRenewals(e *env) {
	before := e.acquire("before", "h")
	e.set(leasehold.SettingMaxRenewals, 1)
	g := e.acquire("r", "h")
	if g.MaxRenewals != 1 {
		e.Errorf("Acquire without a limit = %d, want 1", g.MaxRenewals)
	}
	e.renew(g.Lease)
	e.reason("Renew past the default limit", e.renewErr(g.Lease), leasehold.ReasonMaxRenewals)
	five := e.limited("five", 5)
	e.renew(five.Lease)
	e.renew(five.Lease)
	e.renew(before.Lease)
	e.renew(before.Lease)
}

func settingAcquireTimeout(e *env) {
	e.acquire("r", "h")
	wait := func(timeout time.Duration) *leasehold.Error {
		e.Helper()
		r := e.request("r", "w")
		r.Timeout = timeout
		w := e.start(r)
		return e.reason("Wait", w.failed(), leasehold.ReasonTimeout)
	}
	if e.h.Bubble {
		if err := wait(0); err.Waited != 30*time.Second {
			e.Errorf("Wait by default = %v, want 30s", err.Waited)
		}
	}
	e.set(leasehold.SettingAcquireTimeout, 1200)
	if err := wait(0); err.Waited < 1200*time.Millisecond || err.Waited > e.atMost(1200*time.Millisecond+e.tolerance()) {
		e.Errorf("Wait with the setting at 1.2s lasted %v", err.Waited)
	}
	if err := wait(1500 * time.Millisecond); err.Waited < 1500*time.Millisecond {
		e.Errorf("Wait for 1.5s lasted %v: the setting is a default, no cap", err.Waited)
	}
	e.set(leasehold.SettingAcquireTimeout, 0)
	w := e.start(e.request("r", "w"))
	e.reason("Wait with the setting at 0", w.failed(), leasehold.ReasonTimeout, leasehold.ReasonHeld)
}

func settingBlocking(e *env) {
	g := e.acquire("r", "h")
	e.set(leasehold.SettingBlocking, false)
	e.reason("Wait", e.start(e.request("r", "w")).failed(), leasehold.ReasonBlockingDisabled)
	e.reason("Wait on a free resource", e.start(e.request("free", "w")).failed(), leasehold.ReasonBlockingDisabled)
	e.free("free")
	e.acquire("free", "h")
	e.set(leasehold.SettingBlocking, true)
	w := e.wait(e.request("r", "w"))
	e.release(g.Lease)
	w.atOnce()
}

func settingsSurvive(e *env) {
	e.set(leasehold.SettingDefaultTTL, 77)
	e.set(leasehold.SettingHistoryRenewals, false)
	e.reopen()
	e.setting(leasehold.SettingDefaultTTL, int64(77))
	e.setting(leasehold.SettingHistoryRenewals, false)
	g := e.grant(leasehold.AcquireRequest{Resource: "r", Holder: "h"})
	if g.TTL != 77*time.Second {
		e.Errorf("Acquire after reopening = ttl %v, want 77s", g.TTL)
	}
	e.renew(g.Lease)
	if e.h.can(History) {
		e.kinds("r", leasehold.KindAcquired)
	}
	e.gaps = true
}

func settingMaxTTL(e *env) {
	most := e.h.MinTTL + 5*time.Second
	before := e.acquire("before", "h")
	e.set(leasehold.SettingMaxTTL, int64(most/time.Second))
	r := e.request("r", "h")
	r.TTL = most + time.Millisecond
	e.invalid("Acquire with a ttl above the setting", e.acquireErr(r), "ttl_seconds")
	if e.h.can(Waiting) {
		e.invalid("Wait with a ttl above the setting", e.start(r).failed(), "ttl_seconds")
	}
	e.free("r")
	r.TTL = most
	g := e.grant(r)
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", TTL: most + time.Millisecond})
	e.invalid("Renew with a ttl above the setting", err, "ttl_seconds")
	e.renewFor(g.Lease, most)
	if l := e.renew(before.Lease); l.TTL != e.long {
		e.Errorf("Renew of a lease from before = ttl %v, want its own %v", l.TTL, e.long)
	}
	if g := e.grant(leasehold.AcquireRequest{Resource: "default", Holder: "h"}); g.TTL != most {
		e.Errorf("Acquire without a ttl = %v, want the default cut to %v", g.TTL, most)
	}
	if e.h.can(Infinite) {
		e.grant(leasehold.AcquireRequest{Resource: "endless", Holder: "h", TTL: leasehold.Infinite})
	}
	e.set(leasehold.SettingMaxTTL, 3_153_600_000)
	r.Resource, r.TTL = "century", leasehold.MaxTTL
	e.grant(r)
}

func (e *env) acquireErr(r leasehold.AcquireRequest) error {
	_, err := e.store.Acquire(e.Context(), r)
	return err
}

// settingMaxLeases counts live leases only: those that have ended, in whatever
// way, make room at once.
func settingMaxLeases(e *env) {
	e.limitOfThree(leasehold.SettingMaxLeases, func(string) string { return "" })
}

func settingMaxLeasesCaller(e *env) {
	e.limitOfThree(leasehold.SettingMaxLeasesCaller, func(string) string { return "caller" })
}

// limitOfThree checks a limit of three live leases. Caller says whose the lease
// on a resource is; a store behind a server has one caller only.
func (e *env) limitOfThree(key string, caller func(resource string) string) {
	e.Helper()
	request := func(resource string) leasehold.AcquireRequest {
		r := e.request(resource, "h")
		r.Caller = caller(resource)
		return r
	}
	full := func(resource string) {
		e.Helper()
		err := e.refused(request(resource), leasehold.ReasonTooMany)
		if err.Field != key || err.Problem != "3" {
			e.Errorf("too_many_leases names %s %s, want %s 3", err.Field, err.Problem, key)
		}
		e.free(resource)
	}
	e.set(key, 3)
	a, b := e.grant(request("a")), e.grant(request("b"))
	short := request("short")
	short.TTL = e.short
	e.grant(short)
	full("d")
	e.refused(e.request("a", "other"), leasehold.ReasonHeld) // not too many: that one is in the way
	e.renew(a.Lease)
	e.release(a.Lease)
	d := e.grant(request("d"))
	full("e")
	e.outlive(e.short)
	e.grant(request("e")) // what has expired does not count, swept or not
	full("f")
	if e.h.can(Breaking) {
		e.breakNow("b", "")
		b = e.grant(request("b"))
		full("f")
	}
	e.set(key, 1)
	e.renew(d.Lease) // whatever is there stays
	e.release(d.Lease)
	e.release(b.Lease)
	e.refused(request("f"), leasehold.ReasonTooMany)
	e.set(key, leasehold.Unlimited)
	e.grant(request("f"))
	e.grant(request("g"))
}

// limitsAndQueue: who waits holds nothing; a hand-over in the queue makes no
// lease more.
func limitsAndQueue(e *env) {
	e.set(leasehold.SettingMaxLeases, 1)
	g := e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.release(g.Lease)
	got := w.atOnce()
	e.reason("Wait for a free resource", e.start(e.request("free", "w")).failed(), leasehold.ReasonTooMany)
	e.release(got.Lease)
	e.acquire("free", "h")
}

// limitsSurvive: a restart does not reset the counts.
func limitsSurvive(e *env) {
	r := e.request("r", "h")
	r.Caller = "caller"
	g := e.grant(r)
	e.set(leasehold.SettingMaxLeases, 2)
	e.set(leasehold.SettingMaxLeasesCaller, 1)
	e.reopen()
	r.Resource = "s"
	if err := e.refused(r, leasehold.ReasonTooMany); err.Field != leasehold.SettingMaxLeasesCaller {
		e.Errorf("too_many_leases names %s, want %s", err.Field, leasehold.SettingMaxLeasesCaller)
	}
	e.release(g.Lease)
	e.grant(r)
}

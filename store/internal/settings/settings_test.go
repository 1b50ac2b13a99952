package settings_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/settings"
)

func ptr[T any](v T) *T { return &v }

var noList = cmpopts.IgnoreUnexported(settings.Values{})

func TestDefaults(t *testing.T) {
	want := &settings.Values{
		DefaultTTL: 5 * time.Minute, MaxTTL: 7 * 24 * time.Hour,
		MaxLeases: 1_000_000, MaxLeasesCaller: leasehold.Unlimited, MaxRenewals: leasehold.Unlimited,
		Timeout: 30 * time.Second, CleanupInterval: 5 * time.Minute, AutoExpire: true, Blocking: true,
		KeepHistory: true, HistoryRenewals: true, Retention: 30 * 24 * time.Hour, HistoryMaxRows: 1_000_000,
	}
	if diff := cmp.Diff(want, settings.Defaults(), noList); diff != "" {
		t.Errorf("Defaults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(leasehold.DefaultSettings(), settings.Defaults().List()); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

// Every key steers exactly one field.
func TestEveryKeyIsDecoded(t *testing.T) {
	for _, s := range leasehold.DefaultSettings() {
		var value any = s.Min + 7
		if b, ok := s.Default.(bool); ok {
			value = !b
		}
		v, err := settings.From(map[string]any{s.Key: value})
		if err != nil {
			t.Errorf("From(%s) = %v", s.Key, err)
			continue
		}
		was, is, changed := reflect.ValueOf(*settings.Defaults()), reflect.ValueOf(*v), 0
		for i := range was.NumField() {
			if was.Type().Field(i).IsExported() && was.Field(i).Interface() != is.Field(i).Interface() {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%s = %v changes %d fields, want one", s.Key, value, changed)
		}
	}
}

func TestFrom(t *testing.T) {
	v, err := settings.From(map[string]any{
		leasehold.SettingMaxTTL: int64(60), leasehold.SettingBlocking: false, "of_a_newer_program": "x",
	})
	if err != nil || v.MaxTTL != time.Minute || v.Blocking || v.DefaultTTL != 5*time.Minute {
		t.Errorf("From = %+v, %v", v, err)
	}
	for _, bad := range []map[string]any{
		{leasehold.SettingMaxTTL: "60"}, {leasehold.SettingMaxTTL: int64(-60)}, {leasehold.SettingBlocking: 1},
	} {
		if v, err := settings.From(bad); v != nil || !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("From(%v) = %v, %v, want ErrInvalid", bad, v, err)
		}
	}
}

func TestWith(t *testing.T) {
	v := settings.Defaults()
	next, changed, before, err := v.With(leasehold.SettingMaxRenewals, 3)
	if err != nil || next.MaxRenewals != 3 || changed.Value != int64(3) || before.Value != int64(leasehold.Unlimited) {
		t.Errorf("With = %d, %v, %v, %v", next.MaxRenewals, changed.Value, before.Value, err)
	}
	if diff := cmp.Diff(leasehold.DefaultSettings(), v.List()); diff != "" || v.MaxRenewals != leasehold.Unlimited {
		t.Errorf("the values before changed too: %s", diff)
	}
	want := leasehold.Record{Kind: leasehold.KindConfigured, Details: map[string]string{"key": "max_renewals", "value": "3", "before": "-1"}}
	if diff := cmp.Diff(want, settings.Configured(changed, before)); diff != "" {
		t.Errorf("Configured (-want +got):\n%s", diff)
	}
	for key, value := range map[string]any{"no_setting": 1, leasehold.SettingMaxRenewals: "many"} {
		if next, _, _, err := v.With(key, value); next != nil || !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("With(%s, %v) = %v, %v, want ErrInvalid", key, value, next, err)
		}
	}
}

// List is the caller's own.
func TestListIsACopy(t *testing.T) {
	settings.Defaults().List()[0].Value = "spoiled"
	if got := settings.Defaults().List()[0].Value; got == "spoiled" {
		t.Error("a caller changed the values by their list")
	}
}

func TestFill(t *testing.T) {
	v, err := settings.From(map[string]any{leasehold.SettingMaxTTL: 60, leasehold.SettingMaxRenewals: 2, leasehold.SettingAcquireTimeout: 500})
	if err != nil {
		t.Fatal(err)
	}
	want := leasehold.AcquireRequest{TTL: time.Minute, MaxRenewals: ptr(2), Timeout: 500 * time.Millisecond}
	if diff := cmp.Diff(want, v.Fill(leasehold.AcquireRequest{})); diff != "" {
		t.Errorf("Fill (-want +got):\n%s", diff)
	}
	full := leasehold.AcquireRequest{TTL: time.Hour, MaxRenewals: ptr(0), Timeout: time.Second}
	if diff := cmp.Diff(full, v.Fill(full)); diff != "" {
		t.Errorf("Fill of a full request (-want +got):\n%s", diff)
	}
}

func TestRefuseTTL(t *testing.T) {
	v := settings.Defaults()
	for _, ttl := range []time.Duration{leasehold.MinTTL, v.MaxTTL, leasehold.Infinite} {
		if out := v.RefuseTTL("r", ttl); out.Reason != "" {
			t.Errorf("RefuseTTL(%v) = %q, want none", ttl, out.Reason)
		}
	}
	out := v.RefuseTTL("r", v.MaxTTL+time.Second)
	if out.Reason != leasehold.ReasonInvalid || out.Field != "ttl_seconds" || out.Problem == "" || out.Row.Resource != "r" {
		t.Errorf("RefuseTTL of too long a ttl = %+v", out)
	}
}

func TestKeeps(t *testing.T) {
	for _, c := range []struct {
		off  string
		want map[leasehold.Kind]bool
	}{
		{"", map[leasehold.Kind]bool{leasehold.KindConfigured: true, leasehold.KindRenewed: true, leasehold.KindAcquired: true}},
		{leasehold.SettingHistoryRenewals, map[leasehold.Kind]bool{leasehold.KindConfigured: true, leasehold.KindRenewed: false, leasehold.KindAcquired: true}},
		{leasehold.SettingKeepHistory, map[leasehold.Kind]bool{leasehold.KindConfigured: true, leasehold.KindRenewed: false, leasehold.KindAcquired: false}},
	} {
		v := settings.Defaults()
		if c.off != "" {
			v, _, _, _ = v.With(c.off, false)
		}
		for kind, want := range c.want {
			if got := v.Keeps(kind); got != want {
				t.Errorf("without %q: Keeps(%s) = %v, want %v", c.off, kind, got, want)
			}
		}
	}
}

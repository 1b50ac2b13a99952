package leasehold_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

// TestDefaultSettings holds the table of settings to its word.
func TestDefaultSettings(t *testing.T) {
	want := map[string]any{
		"default_ttl_seconds": int64(300), "max_renewals": int64(-1), "acquisition_timeout_ms": int64(30_000),
		"cleanup_interval_seconds": int64(300), "auto_expire_enabled": true, "blocking_mode_enabled": true,
		"max_ttl_seconds": int64(604_800), "max_leases": int64(1_000_000), "max_leases_per_caller": int64(-1),
		"keep_history": true, "history_renewals": true, "history_retention_days": int64(30), "history_max_rows": int64(1_000_000),
	}
	got := map[string]any{}
	var keys []string
	for _, s := range leasehold.DefaultSettings() {
		got[s.Key] = s.Value
		keys = append(keys, s.Key)
		if s.Value != s.Default {
			t.Errorf("%s: value %v, default %v; want the same", s.Key, s.Value, s.Default)
		}
		if s.Description == "" || s.RequiresRestart {
			t.Errorf("%s: description %q, requires restart %t; want one, false", s.Key, s.Description, s.RequiresRestart)
		}
		if again, err := s.With(s.Default); err != nil || again != s {
			t.Errorf("%s does not accept its own default: %v", s.Key, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("keys = %v, want them sorted", keys)
	}
}

// TestDefaultSettingsAreACopy: what one store does to its settings is no
// business of another.
func TestDefaultSettingsAreACopy(t *testing.T) {
	leasehold.DefaultSettings()[0].Value = int64(1)
	if s := leasehold.DefaultSettings()[0]; s.Value != s.Default {
		t.Errorf("%s = %v after somebody else changed theirs, want %v", s.Key, s.Value, s.Default)
	}
}

func TestSettingRanges(t *testing.T) {
	edges := map[string][2]int64{
		"default_ttl_seconds": {1, 3_153_600_000}, "max_ttl_seconds": {1, 3_153_600_000},
		"max_leases": {-1, 1_000_000_000}, "max_leases_per_caller": {-1, 1_000_000_000}, "max_renewals": {-1, 1_000_000}, "acquisition_timeout_ms": {0, 86_400_000},
		"cleanup_interval_seconds": {1, 86_400}, "history_retention_days": {0, 36_500}, "history_max_rows": {0, 1_000_000_000},
	}
	for _, s := range leasehold.DefaultSettings() {
		edge, numeric := edges[s.Key]
		if numeric != (s.Type() == "integer") {
			t.Errorf("%s.Type() = %q, numeric: %t", s.Key, s.Type(), numeric)
		}
		if !numeric {
			continue
		}
		for value, ok := range map[int64]bool{edge[0] - 1: false, edge[0]: true, edge[1]: true, edge[1] + 1: false} {
			got, err := s.With(value)
			if ok && (err != nil || got.Value != value) {
				t.Errorf("%s.With(%d) = %v, %v; want it", s.Key, value, got.Value, err)
			}
			if !ok {
				verifyUnset(t, s, got, err)
			}
		}
	}
}

// verifyUnset checks that a refused value names the key and changes nothing.
func verifyUnset(t *testing.T, before, after leasehold.Setting, err error) {
	t.Helper()
	if !errors.Is(err, leasehold.ErrInvalid) || after != before {
		t.Errorf("%s.With = %v, %v; want ErrInvalid and the old value", before.Key, after.Value, err)
		return
	}
	verifyInvalid(t, err, before.Key)
}

func settingOf(t *testing.T, key string) leasehold.Setting {
	t.Helper()
	for _, s := range leasehold.DefaultSettings() {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("no setting %q", key)
	return leasehold.Setting{}
}

// TestSettingTypes: any integer type will do, and so will a float64 without a
// fraction, as JSON numbers come.
func TestSettingTypes(t *testing.T) {
	s := settingOf(t, leasehold.SettingDefaultTTL)
	for _, v := range []any{int(60), int8(60), int16(60), int32(60), int64(60), uint(60), uint8(60), uint16(60), uint32(60), uint64(60), float64(60), 6e1} {
		if got, err := s.With(v); err != nil || got.Value != int64(60) {
			t.Errorf("With(%T) = %v (%T), %v; want int64 60", v, got.Value, got.Value, err)
		}
	}
	for _, v := range []any{
		nil, "60", true, 60.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, float64(1 << 53), uint64(math.MaxUint64), uint64(1 << 63),
		[]int{60}, struct{}{}, json.Number("60"), new(60),
	} {
		got, err := s.With(v)
		verifyUnset(t, s, got, err)
	}
	b := settingOf(t, leasehold.SettingKeepHistory)
	if got, err := b.With(false); err != nil || got.Value != false || b.Value != true {
		t.Errorf("With(false) = %v, %v, and the old one is %v; want false, and true", got.Value, err, b.Value)
	}
	for _, v := range []any{nil, "false", 0, 1, 0.0, new(false)} {
		got, err := b.With(v)
		verifyUnset(t, b, got, err)
	}
}

func TestUnknownSetting(t *testing.T) {
	err := leasehold.UnknownSetting(strings.Repeat("no_such_key", 1000))
	verifyInvalid(t, err, "key", "no_such_key")
	if len(err.Error()) > 200 {
		t.Errorf("UnknownSetting answers with %d bytes, want a short message", len(err.Error()))
	}
}

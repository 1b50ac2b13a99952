package leasehold_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// limitCase is one value at, below or above an edge. The field is empty for a
// value that must pass.
type limitCase struct {
	name  string
	err   error
	field string
}

func verifyLimits(t *testing.T, cases []limitCase) {
	t.Helper()
	for _, c := range cases {
		switch {
		case c.field == "" && c.err != nil:
			t.Errorf("%s: refused: %v", c.name, c.err)
		case c.field != "" && !errors.Is(c.err, leasehold.ErrInvalid):
			t.Errorf("%s: error %v, want ErrInvalid about %q", c.name, c.err, c.field)
		case c.field != "":
			t.Run(c.name, func(t *testing.T) { verifyInvalid(t, c.err, c.field) })
		}
	}
}

// acquiring is a valid request after one change to it.
func acquiring(change func(*leasehold.AcquireRequest)) error {
	r := leasehold.AcquireRequest{Resource: "job", Holder: "ann"}
	change(&r)
	return r.Validate()
}

func withTTL(d time.Duration) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.TTL = d })
}

func withMaxRenewals(n int) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.MaxRenewals = &n })
}

func withPriority(n int) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.Priority = n })
}

func withTimeout(d time.Duration) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.Timeout = d })
}

// century is the longest ttl of all.
const century = 36_500 * 24 * time.Hour

func TestNumberLimits(t *testing.T) {
	verifyLimits(t, []limitCase{
		{"ttl left out", withTTL(0), ""},
		{"ttl infinite", withTTL(leasehold.Infinite), ""},
		{"ttl at the least", withTTL(time.Second), ""},
		{"ttl below the least", withTTL(time.Second - 1), "ttl_seconds"},
		{"ttl at the most", withTTL(century), ""},
		{"ttl above the most", withTTL(century + 1), "ttl_seconds"},
		{"ttl negative", withTTL(-2), "ttl_seconds"},
		{"ttl minus a second", withTTL(-time.Second), "ttl_seconds"},
		{"ttl huge", withTTL(math.MaxInt64), "ttl_seconds"},
		{"ttl hugely negative", withTTL(math.MinInt64), "ttl_seconds"},

		{"max_renewals unlimited", withMaxRenewals(leasehold.Unlimited), ""},
		{"max_renewals none", withMaxRenewals(0), ""},
		{"max_renewals at the most", withMaxRenewals(1_000_000), ""},
		{"max_renewals above the most", withMaxRenewals(1_000_001), "max_renewals"},
		{"max_renewals below unlimited", withMaxRenewals(-2), "max_renewals"},
		{"max_renewals beyond 32 bits", withMaxRenewals(1 << 32), "max_renewals"},

		{"priority at the least", withPriority(-100), ""},
		{"priority below", withPriority(-101), "priority"},
		{"priority at the most", withPriority(100), ""},
		{"priority above", withPriority(101), "priority"},

		{"timeout left out", withTimeout(0), ""},
		{"timeout none", withTimeout(leasehold.NoTimeout), ""},
		{"timeout at the most", withTimeout(24 * time.Hour), ""},
		{"timeout above", withTimeout(24*time.Hour + 1), "timeout_ms"},
		{"timeout negative", withTimeout(-2), "timeout_ms"},
		{"timeout minus a millisecond", withTimeout(-time.Millisecond), "timeout_ms"},
	})
}

// TestMessagesNameTheValue: "is 86400000; want 0 to 86400000" helps nobody.
func TestMessagesNameTheValue(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{withTTL(century + time.Millisecond), "ttl_seconds is 3153600000.001; want 1 to 3153600000, or -1 for no end"},
		{withTTL(time.Millisecond), "ttl_seconds is 0.001; want 1 to 3153600000, or -1 for no end"},
		{leasehold.CheckTTL(24*time.Hour+1, 24*time.Hour), "ttl_seconds is 86400.000000001; want 1 to 86400, or -1 for no end"},
		{withTimeout(24*time.Hour + 1), "timeout_ms is 86400000.000001; want 0 to 86400000"},
		{withTimeout(-500 * time.Microsecond), "timeout_ms is -0.5; want 0 to 86400000"},
		{withTimeout(-time.Second), "timeout_ms is -1000; want 0 to 86400000"},
		{withMaxRenewals(-2), "max_renewals is -2; want 0 to 1000000, or -1 for no limit"},
		{withPriority(101), "priority is 101; want -100 to 100"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("Validate() = %v, want %q", tt.err, tt.want)
		}
	}
}

func TestTTLSeconds(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want time.Duration
	}{
		{-1, leasehold.Infinite},
		{1, time.Second},
		{300, 300 * time.Second},
		{86_400, 24 * time.Hour},
		{3_153_600_000, century},
		{1.5, 1500 * time.Millisecond},
		{1.0009, time.Second}, // cut, not rounded
		{1.9999, 1999 * time.Millisecond},
		{86_399.9999, 24*time.Hour - time.Millisecond},
	} {
		if got, err := leasehold.TTLSeconds(tt.in); got != tt.want || err != nil {
			t.Errorf("TTLSeconds(%v) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), -2, -1.5, -0.999, -1.0000001,
		0.999999, math.Nextafter(1, 0), math.Nextafter(3_153_600_000, 1e12), 3_153_600_000.001, 1e300, -1e300, math.SmallestNonzeroFloat64,
	} {
		got, err := leasehold.TTLSeconds(in)
		if got != 0 || !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("TTLSeconds(%v) = %v, %v; want ErrInvalid", in, got, err)
			continue
		}
		verifyInvalid(t, err, "ttl_seconds", "want 1 to 3153600000, or -1")
	}
}

// TestTTLSecondsKeepsMilliseconds: a ttl that was written with three decimals
// must come out as those, although a float cannot hold most of them.
func TestTTLSecondsKeepsMilliseconds(t *testing.T) {
	for ms := int64(1000); ms <= century.Milliseconds(); ms += 7 * (1 + ms/5000) {
		in := float64(ms) / 1000
		if got, err := leasehold.TTLSeconds(in); got != time.Duration(ms)*time.Millisecond || err != nil {
			t.Fatalf("TTLSeconds(%v) = %v, %v; want %d ms", in, got, err, ms)
		}
	}
}

func TestPageLimits(t *testing.T) {
	for _, tt := range []struct {
		n     int
		field string
	}{{0, ""}, {1, ""}, {1000, ""}, {1001, "limit"}, {-1, "limit"}} {
		verifyLimits(t, []limitCase{
			{fmt.Sprintf("list of %d", tt.n), leasehold.ListRequest{Limit: tt.n}.Validate(), tt.field},
			{fmt.Sprintf("history of %d", tt.n), leasehold.HistoryRequest{Limit: tt.n}.Validate(), tt.field},
		})
	}
}

func TestBreakLimits(t *testing.T) {
	breaking := func(d time.Duration) error {
		return leasehold.BreakRequest{Resource: "job", Period: &d}.Validate()
	}
	verifyLimits(t, []limitCase{
		{"no period", leasehold.BreakRequest{Resource: "job"}.Validate(), ""},
		{"at once", breaking(0), ""},
		{"at the most", breaking(time.Minute), ""},
		{"above", breaking(time.Minute + 1), "break_period_seconds"},
		{"negative", breaking(-1), "break_period_seconds"},
		{"no resource", leasehold.BreakRequest{}.Validate(), "resource"},
		{"reason at the most", leasehold.BreakRequest{Resource: "job", Why: strings.Repeat("y", 1024)}.Validate(), ""},
		{"reason too long", leasehold.BreakRequest{Resource: "job", Why: strings.Repeat("y", 1025)}.Validate(), "reason"},
		{"reason with a control character", leasehold.BreakRequest{Resource: "job", Why: "a\nb"}.Validate(), "reason"},
		{"reason no UTF-8", leasehold.BreakRequest{Resource: "job", Why: "\xff"}.Validate(), "reason"},
	})
}

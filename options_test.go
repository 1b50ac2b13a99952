package leasehold

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func TestOptionDefaults(t *testing.T) {
	for _, o := range []*Options{nil, {}} {
		got, err := o.complete()
		if err != nil {
			t.Fatalf("complete(%v) = %v", o, err)
		}
		if got.TTL != time.Minute || got.RenewInterval != 40*time.Second || got.SafetyThreshold != 0.9 || got.RenewMaxRetries != 3 ||
			got.AcquireTimeout != 0 || got.AcquireRetryInterval != 5*time.Second || got.NoAutoRenew || got.Metadata != nil {
			t.Errorf("complete(%v) = %+v, want the documented defaults", o, got)
		}
		if got.RenewRetryInterval <= 0 || 7*got.RenewRetryInterval > 14*time.Second {
			t.Errorf("RenewRetryInterval = %v, want 1+2+4 of it to fit into 14s", got.RenewRetryInterval)
		}
		host, _ := os.Hostname()
		if !strings.HasPrefix(got.Holder, host) || CheckHolder(got.Holder) != nil {
			t.Errorf("Holder = %q, want the host's name %q in front", got.Holder, host)
		}
	}
	one, _ := (&Options{}).complete()
	two, _ := (&Options{}).complete()
	if one.Holder == two.Holder {
		t.Errorf("two Managers of one process are both %q", one.Holder)
	}
}

// TestOptionDefaultsFit: whatever ttl and line a user picks, the rest fits.
func TestOptionDefaultsFit(t *testing.T) {
	for _, ttl := range []time.Duration{MinTTL, 1500 * time.Millisecond, 15 * time.Second, time.Minute, MaxTTL, Infinite} {
		for _, line := range []float64{0.5, 0.66, 0.8, 0.9, 0.95} {
			for _, retries := range []int{-1, 1, 3, 5} {
				o := &Options{TTL: ttl, SafetyThreshold: line, RenewMaxRetries: retries}
				if c, err := o.complete(); err != nil {
					t.Errorf("complete(ttl %v, line %v, retries %d) = %v, %+v", ttl, line, retries, err, c)
				}
			}
		}
	}
}

func TestOptionsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		field, advice string
		o             Options
	}{
		{"TTL", "60s", Options{TTL: -5 * time.Second}},
		{"TTL", "Infinite", Options{TTL: time.Millisecond}},
		{"TTL", "876000h", Options{TTL: MaxTTL + 1}},
		{"SafetyThreshold", "0.5 to 0.95", Options{SafetyThreshold: 0.99}},
		{"SafetyThreshold", "0.5 to 0.95", Options{SafetyThreshold: 0.3}},
		{"SafetyThreshold", "0.5 to 0.95", Options{SafetyThreshold: math.NaN()}},
		{"RenewInterval", "shorter than TTL × SafetyThreshold = 54s; try 40s", Options{RenewInterval: 54 * time.Second}},
		{"RenewInterval", "try 40s", Options{RenewInterval: -time.Second}},
		{"RenewInterval", "try 30s", Options{TTL: Infinite, RenewInterval: 31 * time.Second}},
		{"RenewRetryInterval", "try 875ms", Options{RenewRetryInterval: 3 * time.Second}},
		{"RenewRetryInterval", "at most 571.428571ms fits", Options{RenewRetryInterval: time.Second, RenewInterval: 50 * time.Second}},
		{"RenewRetryInterval", "at least 1ms", Options{RenewRetryInterval: -1}},
		{"RenewMaxRetries", "at most 16", Options{RenewMaxRetries: 17}},
		{"RenewMaxRetries", "try 3", Options{RenewMaxRetries: 16}},
		{"AcquireTimeout", "zero for none", Options{AcquireTimeout: -1}},
		{"AcquireRetryInterval", "5s", Options{AcquireRetryInterval: time.Microsecond}},
		{"holder", "256", Options{Holder: strings.Repeat("x", 257)}},
		{"metadata", "key", Options{Metadata: map[string]string{"": "x"}}},
	} {
		m, err := NewManager(nil, &c.o)
		var e *Error
		if m != nil || !errors.As(err, &e) || !errors.Is(err, ErrInvalid) {
			t.Errorf("NewManager(%+v) = %v, want ErrInvalid", c.o, err)
			continue
		}
		if e.Field != c.field || !strings.Contains(e.Problem, c.advice) {
			t.Errorf("NewManager(%+v) = %v, want it to name %s and advise %q", c.o, err, c.field, c.advice)
		}
	}
}

// TestOptionAdviceIsGood follows the advice of the messages.
func TestOptionAdviceIsGood(t *testing.T) {
	for _, o := range []Options{
		{RenewInterval: 40 * time.Second},
		{TTL: Infinite, RenewInterval: 30 * time.Second},
		{RenewRetryInterval: 875 * time.Millisecond},
		{RenewRetryInterval: 571428571, RenewInterval: 50 * time.Second},
	} {
		if _, err := o.complete(); err != nil {
			t.Errorf("complete(%+v) = %v", o, err)
		}
	}
}

// TestOtherLengths: a lease with a ttl of its own is renewed in proportion.
func TestOtherLengths(t *testing.T) {
	finite := newManager(t, newFakeStore(), &Options{TTL: time.Minute, RenewInterval: 30 * time.Second, RenewRetryInterval: time.Second})
	infinite := newManager(t, newFakeStore(), &Options{TTL: Infinite, RenewInterval: 20 * time.Second})
	for _, c := range []struct {
		m               *Manager
		ttl             time.Duration
		interval, retry time.Duration
	}{
		{finite, time.Minute, 30 * time.Second, time.Second},
		{finite, 2 * time.Minute, time.Minute, 2 * time.Second},
		{finite, Infinite, 30 * time.Second, time.Second},
		{infinite, Infinite, 20 * time.Second, time.Second},
		{infinite, time.Minute, 40 * time.Second, 875 * time.Millisecond},
	} {
		if i, r := c.m.options.intervalOf(c.ttl), c.m.options.retryOf(c.ttl); i != c.interval || r != c.retry {
			t.Errorf("a lease of %v under options for %v: interval %v, retry %v, want %v, %v", c.ttl, c.m.options.TTL, i, r, c.interval, c.retry)
		}
	}
}

func TestDefaultMetadata(t *testing.T) {
	t.Setenv("POD_NAME", "worker-7")
	t.Setenv("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	m := DefaultMetadata()
	host, _ := os.Hostname()
	for key, want := range map[string]string{"host": host, "pod": "worker-7", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"} {
		if m[key] != want {
			t.Errorf("DefaultMetadata()[%q] = %q, want %q", key, m[key], want)
		}
	}
	if err := CheckMetadata(m); err != nil {
		t.Errorf("DefaultMetadata() = %v, which is refused: %v", m, err)
	}
	m["more"] = "yes"
	if _, shared := DefaultMetadata()["more"]; shared {
		t.Error("DefaultMetadata() returns a shared map, want one of the caller's own")
	}
}

func TestDefaultMetadataOmitsInvalidValues(t *testing.T) {
	t.Setenv("POD_NAME", strings.Repeat("x", MaxMetadataValue+1))
	for _, parent := range []string{
		"", "rubbish", "00-short-00f067aa0ba902b7-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
	} {
		t.Setenv("TRACEPARENT", parent)
		m := DefaultMetadata()
		if _, pod := m["pod"]; pod {
			t.Errorf("DefaultMetadata() has a pod of %d bytes", len(m["pod"]))
		}
		if id, traced := m["trace_id"]; traced {
			t.Errorf("TRACEPARENT=%q gives trace_id %q, want none", parent, id)
		}
	}
}

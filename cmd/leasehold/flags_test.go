package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

func TestDurationFlag(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"90", 90 * time.Second, true},
		{"1.5", 1500 * time.Millisecond, true},
		{"2m", 2 * time.Minute, true},
		{"0", 0, true},
		{"infinite", leasehold.Infinite, true},
		{"forever", leasehold.Infinite, true},
		{"-1", leasehold.Infinite, true},
		{"-2", 0, false},
		{"-5s", 0, false},
		{"soon", 0, false},
		{"NaN", 0, false},
		{"1e300", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		var got time.Duration
		err := durationFlag{&got, leasehold.Infinite}.Set(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("Set(%q) = %v, %v, want %v, ok %v", tt.text, got, err, tt.want, tt.ok)
		}
	}
	if err := (durationFlag{value: new(time.Duration)}).Set("forever"); err == nil {
		t.Error(`Set("forever") = nil where there must be an end, want an error`)
	}
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                     {},
		"15m":                  now.Add(-15 * time.Minute),
		"2026-01-30T00:00:00Z": time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseMoment("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("parseMoment(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParsePairs(t *testing.T) {
	got, err := parsePairs([]string{"a=1", "b=x=y", "c="})
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "x=y", "c": ""}, got); diff != "" || err != nil {
		t.Errorf("parsePairs differs, %v (-want +got):\n%s", err, diff)
	}
	if m, err := parsePairs(nil); m != nil || err != nil {
		t.Errorf("parsePairs(nil) = %v, %v, want nil: no metadata is not empty metadata", m, err)
	}
	for _, words := range [][]string{{"a"}, {"=1"}, {"a=1", "a=2"}} {
		if _, err := parsePairs(words); codeOf(err) != exitUsage {
			t.Errorf("parsePairs(%q) = %v, want a usage error", words, err)
		}
	}
}

func TestClaimFlags(t *testing.T) {
	for _, tt := range []struct {
		flags    claimFlags
		names    []string
		resource string
		claims   []leasehold.Claim
	}{
		{claimFlags{}, []string{"a"}, "a", nil},
		{claimFlags{shared: true}, []string{"a"}, "", []leasehold.Claim{{Pattern: "a", Mode: leasehold.Shared}}},
		{claimFlags{}, []string{"a", "b*"}, "", leasehold.Resources("a", "b*")},
		{claimFlags{namespace: "repo", paths: []string{"src/**"}, shared: true}, []string{"a"}, "", []leasehold.Claim{
			{Pattern: "a", Mode: leasehold.Shared}, {Namespace: "repo", Pattern: "src/**", Mode: leasehold.Shared},
		}},
		{claimFlags{namespace: "services:", paths: []string{"prod:us:**"}}, nil, "", leasehold.Paths("services:", "prod:us:**")},
	} {
		resource, claims, err := tt.flags.claims(tt.names)
		if diff := cmp.Diff(tt.claims, claims); err != nil || resource != tt.resource || diff != "" {
			t.Errorf("%+v.claims(%q) = %q, %v, want %q; claims -want +got:\n%s", tt.flags, tt.names, resource, err, tt.resource, diff)
		}
	}
	for _, f := range []claimFlags{{paths: []string{"src/**"}}, {namespace: "repo"}, {namespace: "repo", paths: []string{"src/"}}} {
		if _, _, err := f.claims([]string{"a"}); codeOf(err) != exitUsage {
			t.Errorf("%+v.claims = %v, want a usage error", f, err)
		}
	}
}

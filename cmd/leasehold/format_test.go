package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

func TestSpan(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"},
		{350 * time.Millisecond, "350 ms"},
		{999*time.Millisecond + 600*time.Microsecond, "1 s"},
		{41 * time.Second, "41 s"},
		{59*time.Second + 600*time.Millisecond, "1 min"},
		{5*time.Minute + 3*time.Second, "5 min 3 s"},
		{59*time.Minute + 59*time.Second + 700*time.Millisecond, "1 h"},
		{2*time.Hour + 10*time.Minute, "2 h 10 min"},
		{24 * time.Hour, "24 h"},
		{72 * time.Hour, "3 d"},
	}
	for _, tt := range tests {
		if got := span(tt.d); got != tt.want {
			t.Errorf("span(%v) = %q, want %q", tt.d, got, tt.want)
		}
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 112: "112th", 122: "122nd"} {
		if got := ordinal(n); got != want {
			t.Errorf("ordinal(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestQuoteIsOneShellWord(t *testing.T) {
	for s, want := range map[string]string{
		"deploy:prod": "deploy:prod",
		"":            "''",
		"a b":         "'a b'",
		"$(rm -rf)":   "'$(rm -rf)'",
		"it's":        `'it'\''s'`,
		"*":           "'*'",
		"~":           "'~'",
	} {
		if got := quote(s); got != want {
			t.Errorf("quote(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestVisibleKeepsTerminalsSafe(t *testing.T) {
	if got, want := visible("a\x1b[2J\nb\u009bc"), "a\uFFFD[2J\uFFFDb\uFFFDc"; got != want {
		t.Errorf("visible(…) = %q, want %q", got, want)
	}
}

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

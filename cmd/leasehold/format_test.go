package main

import (
	"testing"
	"time"
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

// TestPlainMessage: the request's id and time are left out.
func TestPlainMessage(t *testing.T) {
	for message, want := range map[string]string{
		"It is so.": "It is so.",
		"It is so.\nRequestId:1-2\nTime:2026-01-31T12:00:00.0000000Z":            "It is so.",
		"It is so.\nRequestId:1-2\nTime:2026-01-31T12:00:00.0000000Z\nDo this.":  "It is so. Do this.",
		"RequestId:1-2\nTime:2026-01-31T12:00:00.0000000Z\nIt is so.\nDo\nthis.": "It is so. Do this.",
	} {
		if got := plainMessage(message); got != want {
			t.Errorf("plainMessage(%q) = %q, want %q", message, got, want)
		}
	}
}

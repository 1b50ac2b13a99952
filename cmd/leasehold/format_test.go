package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
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

func TestLeaseNameSaysWhatItCovers(t *testing.T) {
	many := leasehold.Resources("a", "b", "c", "d", "e", "f")
	mixed := append(leasehold.Paths("repo", "src/**"), leasehold.Claim{Pattern: "db", Mode: leasehold.Shared})
	for want, l := range map[string]leasehold.Lease{
		"'a b'":                               {Resource: "a b"},
		"__set__1 (a, b, c, d, 2 more)":       {Resource: "__set__1", Claims: many},
		"__set__2 (repo src/**, db (shared))": {Resource: "__set__2", Claims: mixed},
	} {
		if got := leaseName(l); got != want {
			t.Errorf("leaseName(%v) = %q, want %q", l.Claims, got, want)
		}
	}
	if got, want := claimLines(mixed), "exclusive\tsrc/**\trepo\nshared\tdb"; got != want {
		t.Errorf("claimLines(%v) = %q, want %q", mixed, got, want)
	}
}

// TestNoteText: a note is another's text, which must neither control a terminal nor
// look like this program's own messages.
func TestNoteText(t *testing.T) {
	got := noteText(leasehold.Note{From: "ben", Text: "half\x1b[2J done\r\nleasehold: all is well\n"})
	if want := "note from ben: half\uFFFD[2J done\n  leasehold: all is well"; got != want {
		t.Errorf("noteText = %q, want %q", got, want)
	}
}

// TestStatusOfASharedResource: every holder has a line, and the newest token counts.
func TestStatusOfASharedResource(t *testing.T) {
	shared := []leasehold.Claim{{Pattern: "db", Mode: leasehold.Shared}}
	s := leasehold.Status{Resource: "db", Leases: []leasehold.Lease{
		{Resource: "__set__4", Holder: "anna", Token: 4, State: leasehold.StateActive, Remaining: time.Minute, Claims: shared},
		{Resource: "__set__5", Holder: "ben", Token: 5, State: leasehold.StateBreaking, Remaining: time.Second, Claims: shared},
		{Resource: "__set__6", Holder: "cara", Token: 6, State: leasehold.StateActive, Remaining: leasehold.Infinite, Claims: shared},
	}, Waiters: []leasehold.Place{{Holder: "dora", Position: 1}}}
	s.Lease = &s.Leases[0]
	want := [][]string{
		{"resource", "db"}, {"status", "active"},
		{"held by", "anna, token 4, as __set__4 (db (shared)); it ends in 1 min"},
		{"held by", "ben, token 5, as __set__5 (db (shared)); being broken, free in 1 s"},
		{"held by", "cara, token 6, as __set__6 (db (shared)); it has no end"},
		{"waiting", "1st in line: dora, for 0 s"},
	}
	if diff := cmp.Diff(want, statusRows(s, time.Time{})); diff != "" {
		t.Errorf("statusRows -want +got:\n%s", diff)
	}
	if got, want := describeHolder(s), "held by anna and 2 more, frees itself in 1 min"; got != want {
		t.Errorf("describeHolder = %q, want %q", got, want)
	}
	var out bytes.Buffer
	a := &app{out: &out}
	if err := a.printCheck(s, 5); err != nil || out.String() != "token 5 is current\n" {
		t.Errorf("printCheck(5) = %v, %q, want it current", err, &out)
	}
	out.Reset()
	if err := a.printCheck(s, 3); codeOf(err) != exitLost || !strings.Contains(out.String(), "the newest is 6") {
		t.Errorf("printCheck(3) = %v, %q, want %d and the newest", err, &out, exitLost)
	}
}

// Only where it is known is it said that there were no leases.
func TestPastWithoutLeases(t *testing.T) {
	for known, want := range map[past.Known]bool{past.Certain: true, past.NotRetained: false, past.Uncertain: false} {
		var said bytes.Buffer
		a := &app{out: io.Discard, err: &said}
		if err := a.printPastPage(past.Page{Known: known, Time: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(said.String(), "no leases") != want || said.Len() == 0 {
			t.Errorf("of a moment that is %s the command says %q", known, said.String())
		}
	}
}

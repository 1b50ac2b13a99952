package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
)

func heldStatus(remaining time.Duration, waiters ...string) leasehold.Status {
	s := leasehold.Status{Resource: "r", Lease: &leasehold.Lease{
		Resource: "r", Holder: "codex:7f3", Token: 7, State: leasehold.StateActive, Remaining: remaining,
	}}
	for i, w := range waiters {
		s.Waiters = append(s.Waiters, leasehold.Place{Holder: w, Position: i + 1})
	}
	return s
}

func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	p := &progress{a: &app{err: &out}}
	me := leasehold.AcquireRequest{Resource: "r", Holder: "me"}
	for _, s := range []leasehold.Status{
		heldStatus(41*time.Second, "other", "me"),
		heldStatus(40*time.Second, "other", "me"), // only time has passed
		heldStatus(39*time.Second, "me"),
		{Resource: "r"}, // free: the grant comes next
	} {
		p.show(positionOf(s, me), s)
	}
	want := "2nd in line, held by codex:7f3, frees itself in 41 s\n1st in line, held by codex:7f3, frees itself in 39 s\n"
	if out.String() != want {
		t.Errorf("progress wrote %q, want %q", &out, want)
	}
}

func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var out bytes.Buffer
	p := &progress{a: &app{err: &out}, live: true, cancel: func() {}, done: make(chan struct{})}
	close(p.done)
	p.show(1, heldStatus(2*time.Second))
	p.show(1, heldStatus(time.Second))
	p.stop()
	const erase = "\r\x1b[K"
	want := erase + "1st in line, held by codex:7f3, frees itself in 2 s" + erase + "1st in line, held by codex:7f3, frees itself in 1 s" + erase
	if out.String() != want {
		t.Errorf("progress wrote %q, want %q", &out, want)
	}
}

func TestProgressIsSilentInJSON(t *testing.T) {
	var out bytes.Buffer
	p := &progress{a: &app{err: &out, json: true}}
	p.show(1, heldStatus(time.Second))
	if out.Len() > 0 {
		t.Errorf("progress wrote %q with --json, want nothing", &out)
	}
}

func TestDescribeHolder(t *testing.T) {
	breaking := heldStatus(3 * time.Second)
	breaking.Lease.State = leasehold.StateBreaking
	ended := heldStatus(0)
	ended.Lease.State = leasehold.StateExpired
	for _, tt := range []struct {
		status leasehold.Status
		want   string
	}{
		{heldStatus(leasehold.Infinite), "held by codex:7f3 without an end"},
		{breaking, "held by codex:7f3, being broken, free in 3 s"},
		{ended, ""},
		{leasehold.Status{}, ""},
	} {
		if got := describeHolder(tt.status); got != tt.want {
			t.Errorf("describeHolder(%+v) = %q, want %q", tt.status.Lease, got, tt.want)
		}
	}
}

// TestProgressOfSeveral: the line says which part is held, and passes over what others
// only share.
func TestProgressOfSeveral(t *testing.T) {
	s := memory.New()
	defer s.Close()
	read := []leasehold.Claim{{Pattern: "report", Mode: leasehold.Shared}}
	for holder, claims := range map[string][]leasehold.Claim{
		"reader": read, "editor": leasehold.Paths("repo", "src/auth/login.go"),
	} {
		if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Claims: claims, Holder: holder, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "plain", Holder: "owner", TTL: leasehold.Infinite}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		claims []leasehold.Claim
		want   string
	}{
		{leasehold.Resources("other", "plain"), "plain is held by owner without an end\n"},
		{append(read, leasehold.Paths("repo", "src/**")...), "src/auth/login.go is held by editor, frees itself in 1 min\n"},
		{leasehold.Resources("other", "report"), "report is held by reader, frees itself in 1 min\n"},
		{leasehold.Resources("other"), ""},
	} {
		status, err := lookUp(t.Context(), s, leasehold.AcquireRequest{Claims: tt.claims, Holder: "me"})
		if err != nil {
			t.Fatalf("lookUp(%v) = %v", tt.claims, err)
		}
		var out bytes.Buffer
		(&progress{a: &app{err: &out}, several: true}).show(0, status)
		if out.String() != tt.want {
			t.Errorf("progress of %v wrote %q, want %q", tt.claims, &out, tt.want)
		}
	}
}

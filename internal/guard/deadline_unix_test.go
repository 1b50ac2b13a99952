//go:build unix

package guard

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDeadlineOf(t *testing.T) {
	const at, s = time.Hour, time.Second
	tests := []struct {
		name             string
		line, end, grace time.Duration
		want             deadline
	}{
		{"the grace fits", 54 * s, 59398 * time.Millisecond, 2 * s, deadline{at + 54*s, at + 56*s}},
		{"the grace is shortened", 54 * s, 59 * s, 5 * s, deadline{at + 54*s, at + 58500*time.Millisecond}},
		{"a short lease", 2 * s, 2200 * time.Millisecond, 5 * s, deadline{at + 2*s, at + 2100*time.Millisecond}},
		{"no grace", 54 * s, 59 * s, 0, deadline{at + 54*s, at + 54*s}},
		{"no end", -1, -1, 5 * s, noDeadline},
		{"past its line", 0, 4 * s, 5 * s, deadline{at, at + 3500*time.Millisecond}},
		{"over", 0, 0, 5 * s, deadline{at, at}},
		{"an end before the line", 4 * s, 3 * s, 5 * s, deadline{at + 4*s, at + 4*s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := deadlineOf(at, tt.line, tt.end, tt.grace)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("deadlineOf(%v, %v, %v, %v) differs (-want +got):\n%s", at, tt.line, tt.end, tt.grace, diff)
			}
		})
	}
}

func TestStartingAt(t *testing.T) {
	const at, s = time.Hour, time.Second
	tests := []struct {
		name string
		d    deadline
		want deadline
	}{
		{"long before", deadline{at + 50*s, at + 55*s}, deadline{at, at + 5*s}},
		{"shortly before", deadline{at + s, at + 2*s}, deadline{at, at + 2*s}},
		{"after SIGTERM", deadline{at - s, at + s}, deadline{at - s, at + s}},
		{"no end", noDeadline, deadline{at, at + 5*s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.d.startingAt(at, 5*s)); diff != "" {
				t.Errorf("startingAt differs (-want +got):\n%s", diff)
			}
		})
	}
}

package main

import "testing"

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

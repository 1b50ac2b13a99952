package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	var times [][]time.Duration
	for i := range 4 {
		var own []time.Duration
		for j := range 25 {
			own = append(own, time.Duration(1+i+4*j)*time.Millisecond)
		}
		times = append(times, own)
	}
	got := summarize("pairs", 4, 2*time.Second, times)
	want := measurement{Measure: "pairs", Workers: 4, Count: 100, Seconds: 2, PerSecond: 50, P50: 51, P95: 96, P99: 100, Max: 100, Rounds: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summarize differs (-want +got):\n%s", diff)
	}
	if got := summarize("pairs", 1, time.Second, nil); got.PerSecond != 0 || got.P99 != 0 {
		t.Errorf("summarize(nothing) = %+v, want zeros", got)
	}
}

func TestMedianOfIsOneRound(t *testing.T) {
	got := medianOf([]measurement{{PerSecond: 9, P50: 1}, {PerSecond: 1, P50: 9}, {PerSecond: 5, P50: 5}})
	if want := (measurement{PerSecond: 5, P50: 5, Rounds: 3}); got != want {
		t.Errorf("medianOf = %+v, want %+v", got, want)
	}
}

func TestParseWorkers(t *testing.T) {
	got, err := parseWorkers("1, 8,64")
	if diff := cmp.Diff([]int{1, 8, 64}, got); diff != "" || err != nil {
		t.Errorf("parseWorkers differs, %v (-want +got):\n%s", err, diff)
	}
	for _, list := range []string{"", "0", "-1", "8,", "x", "10001"} {
		if _, err := parseWorkers(list); codeOf(err) != exitUsage {
			t.Errorf("parseWorkers(%q) = %v, want a usage error", list, err)
		}
	}
}

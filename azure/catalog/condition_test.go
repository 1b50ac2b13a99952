package catalog

import (
	"testing"
	"time"
)

func TestConditions(t *testing.T) {
	moment := time.Date(2026, 11, 15, 6, 24, 1, 500_000_000, time.UTC)
	there := TicksOf(moment)
	etag, other := there.ETag(), (there + 1).ETag()
	whole := moment.Truncate(time.Second) // as headers have it
	tests := []struct {
		name  string
		c     Conditions
		t     Ticks
		holds bool
		fresh bool // refused because the reader has the latest
	}{
		{"none", Conditions{}, there, true, false},
		{"none, nothing there", Conditions{}, 0, true, false},
		{"match", Conditions{Match: etag}, there, true, false},
		{"match without quotes", Conditions{Match: etag[1 : len(etag)-1]}, there, true, false},
		{"match in a list", Conditions{Match: other + ", " + etag}, there, true, false},
		{"match anything", Conditions{Match: "*"}, there, true, false},
		{"match another", Conditions{Match: other}, there, false, false},
		{"match, nothing there", Conditions{Match: etag}, 0, false, false},
		{"match anything, nothing there", Conditions{Match: "*"}, 0, false, false},
		{"none match", Conditions{NoneMatch: other}, there, true, false},
		{"none match, weak", Conditions{NoneMatch: "W/" + etag}, there, false, true},
		{"none match, the same", Conditions{NoneMatch: etag}, there, false, true},
		{"none match, nothing there", Conditions{NoneMatch: etag}, 0, true, false},
		{"none at all", Conditions{NoneMatch: "*"}, there, false, true},
		{"none at all, nothing there", Conditions{NoneMatch: "*"}, 0, true, false},
		{"modified since then", Conditions{ModifiedSince: new(whole)}, there, false, true},
		{"modified since before", Conditions{ModifiedSince: new(whole.Add(-time.Second))}, there, true, false},
		{"unmodified since then", Conditions{UnmodifiedSince: new(whole)}, there, true, false},
		{"unmodified since before", Conditions{UnmodifiedSince: new(whole.Add(-time.Second))}, there, false, false},
		{"unmodified, nothing there", Conditions{UnmodifiedSince: new(whole)}, 0, true, false},
		{"another of the same second", Conditions{NoneMatch: other, ModifiedSince: new(whole)}, there, true, false},
		{"the same, by both", Conditions{NoneMatch: etag, ModifiedSince: new(whole)}, there, false, true},
		{"the same, and modified", Conditions{NoneMatch: etag, ModifiedSince: new(whole.Add(-time.Second))}, there, true, false},
		{"none at all, and modified", Conditions{NoneMatch: "*", ModifiedSince: new(whole.Add(-time.Second))}, there, false, true},
		{"modified since the year 1", Conditions{ModifiedSince: new(time.Time)}, there, true, false},
		{"the same, and modified since the year 1", Conditions{NoneMatch: etag, ModifiedSince: new(time.Time)}, there, true, false},
		{"unmodified since the year 1", Conditions{UnmodifiedSince: new(time.Time)}, there, false, false},
		{"match but modified", Conditions{Match: etag, UnmodifiedSince: new(whole.Add(-time.Second))}, there, false, false},
	}
	for _, tt := range tests {
		err := tt.c.judge(tt.t)
		if (err == nil) != tt.holds || NotModified(err) != tt.fresh {
			t.Errorf("%s: judge = %v, not modified %v; want it to hold: %v, not modified: %v", tt.name, err, NotModified(err), tt.holds, tt.fresh)
		}
	}
}

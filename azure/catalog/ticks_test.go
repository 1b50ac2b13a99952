package catalog

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	moment := time.Date(2026, 11, 15, 6, 24, 1, 123_456_700, time.UTC)
	ticks := TicksOf(moment)
	if got := ticks.Time(); !got.Equal(moment) {
		t.Errorf("Time() = %v, want %v", got, moment)
	}
	if got, want := At(ticks).String(), "2026-11-15T06:24:01.1234567Z"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got, want := TicksOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).ETag(), `"0x8DE48C8B4F80000"`; got != want {
		t.Errorf("ETag() = %s, want %s", got, want)
	}
	if none := At(Base); none != (Snapshot{}) || none.String() != "" || none.Ticks() != Base {
		t.Errorf("At(Base) = %q, want none", none)
	}
	if first := At(0); first == (Snapshot{}) || first.String() != "0001-01-01T00:00:00.0000000Z" || first.Ticks() != 0 {
		t.Errorf("At(0) = %q, want the first moment of the year 1", first)
	}
}

func TestParseSnapshot(t *testing.T) {
	want := At(TicksOf(time.Date(2026, 11, 15, 6, 24, 1, 123_456_000, time.UTC)))
	for _, s := range []string{"2026-11-15T06:24:01.1234560Z", "2026-11-15T06:24:01.123456Z"} {
		if got, ok := ParseSnapshot(s); !ok || got != want {
			t.Errorf("ParseSnapshot(%q) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", "2026", "2026-11-15", "2026-11-15T06:24:01Z", "2026-11-15T06:24:01.12345Z", "2026-11-15T06:24:01.12345678Z",
		"2026-11-15T06:24:01.1234567", "2026-13-15T06:24:01.1234567Z", "2026-02-30T06:24:01.1234567Z",
		"2026-11-15T06:24:01.1234567+00:00", " 2026-11-15T06:24:01.1234567Z", "2026-11-15t06:24:01.1234567z",
		"2026-11-15T06:24:01,1234567Z", "9223372036854775807", "0000-12-31T23:59:59.9999999Z", "10000-01-01T00:00:00.0000000Z",
	} {
		if got, ok := ParseSnapshot(s); ok {
			t.Errorf("ParseSnapshot(%q) = %v, want a refusal", s, got)
		}
	}
}

func TestSnapshotIDsSortAsTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 3_155_378_975_999_999_999) // the year 9999
		a, b := Ticks(whole.Draw(t, "a")), Ticks(whole.Draw(t, "b"))
		if back, ok := ParseSnapshot(At(a).String()); !ok || back != At(a) {
			t.Fatalf("ParseSnapshot(%q) = %d, %v, want %d", At(a), back.Ticks(), ok, a)
		}
		if (a < b) != (At(a).String() < At(b).String()) {
			t.Fatalf("%d and %d sort otherwise than %s and %s", a, b, At(a), At(b))
		}
	})
}

func FuzzParseSnapshot(f *testing.F) {
	f.Add("2026-11-15T06:24:01.1234567Z")
	f.Add("2026-11-15T06:24:01.123456Z")
	f.Add("0001-01-01T00:00:00.0000000Z")
	f.Add("9999-12-31T23:59:59.9999999Z")
	f.Add("0000-01-01T00:00:00.0000000Z")
	f.Fuzz(func(t *testing.T, s string) {
		read, ok := ParseSnapshot(s)
		switch {
		case ok == (read == Snapshot{}), ok == (read.Ticks() == Base):
			t.Errorf("ParseSnapshot(%q) = %q, %v", s, read, ok)
		case ok && read.String() != s && read.String() != s[:len(s)-1]+"0Z":
			t.Errorf("ParseSnapshot(%q) reads %s", s, read)
		}
	})
}

func TestClockNeverRepeats(t *testing.T) {
	var c clock
	future := TicksOf(time.Now().Add(time.Hour))
	if got := c.after(future); got <= future {
		t.Errorf("after(%d) = %d, want later", future, got)
	}
	const each = 1000
	given := make([][]Ticks, 8)
	var wg sync.WaitGroup
	for w := range given {
		wg.Go(func() {
			for range each {
				given[w] = append(given[w], c.after(0))
			}
		})
	}
	wg.Wait()
	for w := range given {
		if !slices.IsSorted(given[w]) {
			t.Errorf("worker %d was given moments out of order", w)
		}
	}
	all := slices.Concat(given...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != len(given)*each {
		t.Errorf("%d moments, of which %d are distinct", len(given)*each, n)
	}
}

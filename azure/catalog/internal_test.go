package catalog

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"pgregory.net/rapid"
)

// Collect does at once what the collector does in its own time.
func (c *Catalog) Collect(ctx context.Context) error {
	if _, err := c.expire(ctx); err != nil {
		return err
	}
	return c.collect(ctx)
}

// DeleteFree is what the collector deletes chunks with.
var DeleteFree = []string{sqlRecountRefs, sqlDeleteFreeChunks}

// CheckBlockID is checkBlockID.
func CheckBlockID(block string) error { return checkBlockID(block) }

// Blocks of this many pieces are collected in one commit.
const PieceBatch = pieceBatch

// LimitUncommitted makes a blob full with fewer blocks than Azure's.
func (c *Catalog) LimitUncommitted(n int64) { c.blockCounts.limit = n }

func TestLocksAreKeptApartByName(t *testing.T) {
	var l locks
	var wg sync.WaitGroup
	a := l.lock("a")
	l.lock("b").unlock()
	entered := make(chan struct{})
	wg.Go(func() {
		defer l.share("a").unlock()
		close(entered)
	})
	for l.waiting("a") < 2 {
		runtime.Gosched()
	}
	select {
	case <-entered:
		t.Error("somebody shares what another has alone")
	default:
	}
	a.unlock()
	wg.Wait() // for ever if a free lock is not had
	if len(l.named) != 0 {
		t.Errorf("%d locks are kept that nobody has", len(l.named))
	}
}

// waiting counts those who have the lock or wait for it.
func (l *locks) waiting(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.named[name].users
}

func TestLocksAreShared(t *testing.T) {
	var l locks
	first := l.share("a")
	l.share("a").unlock() // would block for ever if it were not
	first.unlock()
}

func TestLocksUnderLoad(t *testing.T) {
	var l locks
	var wg sync.WaitGroup
	counts := map[string]*int{"a": new(int), "b": new(int)}
	for range 8 {
		wg.Go(func() {
			for range 500 {
				for name, n := range counts {
					held := l.lock(name)
					*n++
					held.unlock()
				}
			}
		})
	}
	wg.Wait()
	for name, n := range counts {
		if *n != 4000 {
			t.Errorf("lock %q let %d of 4000 increments through", name, *n)
		}
	}
	if len(l.named) != 0 {
		t.Errorf("%d locks are kept that nobody has", len(l.named))
	}
}

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
		err := tt.c.check(tt.t)
		if (err == nil) != tt.holds || NotModified(err) != tt.fresh {
			t.Errorf("%s: check = %v, not modified %v; want it to hold: %v, not modified: %v", tt.name, err, NotModified(err), tt.holds, tt.fresh)
		}
	}
}

func TestResource(t *testing.T) {
	ref := Ref{Account: "acct", Container: "box", Blob: "a/b c"}
	if got, want := ref.Resource(), "blob:acct/box/a/b c"; got != want {
		t.Errorf("Resource() = %q, want %q", got, want)
	}
	if got, want := ref.container().Resource(), "blob:acct/box"; got != want {
		t.Errorf("Resource() = %q, want %q", got, want)
	}
	if got, want := ref.Holder(), "azure:acct"; got != want {
		t.Errorf("Holder() = %q, want %q", got, want)
	}
	ref.Snapshot = At(0)
	if !ref.IsSnapshot() || ref.base().IsSnapshot() {
		t.Errorf("IsSnapshot() = %v, of the base %v", ref.IsSnapshot(), ref.base().IsSnapshot())
	}
}

// TestResourceIsAlwaysAName: whatever a blob is called, its lease has a name,
// and no other blob's lease has it.
func TestResourceIsAlwaysAName(t *testing.T) {
	names := rapid.OneOf(
		rapid.StringN(1, 1024, -1),
		rapid.StringMatching(`~sha256-[0-9a-f]{0,64}`),
		rapid.SampledFrom([]string{"a\nb", "\x00", strings.Repeat("ü", 1024), strings.Repeat("x", 1024)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a := Ref{Account: "acct", Container: "box", Blob: names.Draw(t, "a")}
		b := Ref{Account: "acct", Container: "box", Blob: names.Draw(t, "b")}
		if err := leasehold.CheckResource(a.Resource()); err != nil {
			t.Fatalf("Resource() of %q = %q: %v", a.Blob, a.Resource(), err)
		}
		if a.Blob != b.Blob && a.Resource() == b.Resource() {
			t.Fatalf("%q and %q have the same lease %q", a.Blob, b.Blob, a.Resource())
		}
		digest := Ref{Account: "acct", Container: "box", Blob: strings.TrimPrefix(a.Resource(), "blob:acct/box/")}
		if digest.Blob != a.Blob && digest.Resource() == a.Resource() {
			t.Fatalf("%q has the lease of %q", digest.Blob, a.Blob)
		}
	})
}

func TestCheckContainer(t *testing.T) {
	for _, name := range []string{"abc", "a-b", "123", "a1-b2-c3", strings.Repeat("a", 63), "$root", "$logs", "$web"} {
		if err := CheckContainer(name); err != nil {
			t.Errorf("CheckContainer(%q) = %v", name, err)
		}
	}
	for code, names := range map[string][]string{
		azerr.InvalidResourceName: {"Abc", "a--b", "-abc", "abc-", "a_b", "a.b", "ä-b", "...", "a/b", "$other"},
		azerr.OutOfRangeInput:     {"", "ab", "..", strings.Repeat("a", 64)},
	} {
		for _, name := range names {
			if err := CheckContainer(name); !azerr.HasCode(err, code) {
				t.Errorf("CheckContainer(%q) = %v, want %s", name, err, code)
			}
		}
	}
}

func TestCheckBlob(t *testing.T) {
	for _, name := range []string{"a", "/", "..", "a//b", "a b", "\x01", strings.Repeat("🙂", MaxName)} {
		if err := CheckBlob(name); err != nil {
			t.Errorf("CheckBlob(%q) = %v", name, err)
		}
	}
	for name, code := range map[string]string{
		"": azerr.InvalidUri, "\xff": azerr.InvalidUri, strings.Repeat("🙂", MaxName+1): azerr.InvalidResourceName,
	} {
		if err := CheckBlob(name); !azerr.HasCode(err, code) {
			t.Errorf("CheckBlob(%.20q) = %v, want %s", name, err, code)
		}
	}
}

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

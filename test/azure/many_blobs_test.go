//go:build unix

package azuretest

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	pageLength  = 100
	timesSlower = 3 // that the last pages may be than the first
)

// TestManyBlobs lists many blobs page by page: each blob once, in
// order, the last pages as fast as the first. Then it restarts the server.
func TestManyBlobs(t *testing.T) { // alone: it measures
	listMany(t, 20_000)
}

// BenchmarkMany does the same with a hundred thousand, and measures a page.
func BenchmarkMany(b *testing.B) {
	l := listMany(b, 100_000)
	for b.Loop() {
		l.page(l.markers[rand.IntN(len(l.markers))])
	}
}

func listMany(t testing.TB, count int) *list {
	s := serve(t, "--durability", "normal") // lists are measured, not writes
	empty, before := s.launch, s.resident()
	s.container("many")
	start := time.Now()
	s.load("many", count)
	t.Logf("%d blobs put in %v; memory %s before, %s after", count, time.Since(start).Round(time.Millisecond), mib(before), mib(s.resident()))
	l := &list{server: s, raw: s.raw(), count: count}
	l.walk()
	l.compare()
	s.stop()
	s.start()
	t.Logf("a start takes %v on nothing, %v on %d blobs, with %s of memory", empty, s.launch, count, mib(s.resident()))
	if s.launch > empty+2*time.Second { // for a busy machine; reading every blob would take longer
		t.Errorf("a start takes %v on %d blobs, %v on nothing; want them alike", s.launch, count, empty)
	}
	l.raw = s.raw()
	l.walk()
	return l
}

// list is a container with many blobs.
type list struct {
	*server
	raw     *raw
	count   int
	markers []string // of each page; the first has none
	bytes   []int
}

// walk reads all pages and checks each.
func (l *list) walk() {
	l.Helper()
	l.markers, l.bytes = nil, nil
	next, marker := 0, ""
	for len(l.markers) == 0 || marker != "" {
		l.markers = append(l.markers, marker)
		page := l.page(marker)
		l.bytes = append(l.bytes, len(page))
		names := between(page, "<Name>", "</Name>")
		for _, name := range names {
			if name != nameOf(next) {
				l.Fatalf("the list has %q, want %q", name, nameOf(next))
			}
			next++
		}
		marker = strings.Join(between(page, "<NextMarker>", "</NextMarker>"), "")
		if len(names) != pageLength && marker != "" {
			l.Errorf("page %d has %d blobs, want %d", len(l.markers), len(names), pageLength)
		}
	}
	if next != l.count {
		l.Errorf("%d blobs are listed, want %d", next, l.count)
	}
}

func (l *list) page(marker string) string {
	l.Helper()
	path := "/blob/" + account + "/many?restype=container&comp=list&maxresults=" + strconv.Itoa(pageLength)
	if marker != "" {
		path += "&marker=" + url.QueryEscape(marker)
	}
	return l.raw.send("GET", path, "").want(http.StatusOK, "").body
}

// compare reads pages of the beginning and of the end alternately, so that a busy
// machine slows both.
func (l *list) compare() {
	l.Helper()
	var early, late []time.Duration
	tenth := len(l.markers) / 10
	for i := range tenth {
		early = append(early, l.timed(l.markers[i]))
		late = append(late, l.timed(l.markers[len(l.markers)-1-i]))
	}
	first, last := median(early), median(late)
	small, large := slices.Min(l.bytes), slices.Max(l.bytes)
	l.Logf("%d pages of %d: %v each at the beginning, %v at the end; %d to %d bytes", len(l.markers), pageLength, first, last, small, large)
	if last > timesSlower*first {
		l.Errorf("the last pages take %v, the first %v; want at most %d times that", last, first, timesSlower)
	}
	if large > small+small/5 {
		l.Errorf("pages have %d to %d bytes, want them alike", small, large)
	}
}

func (l *list) timed(marker string) time.Duration {
	l.Helper()
	start := time.Now()
	l.page(marker)
	return time.Since(start)
}

// between returns the texts between from and to.
func between(text, from, to string) (found []string) {
	for {
		_, rest, ok := strings.Cut(text, from)
		if !ok {
			return found
		}
		inside, after, _ := strings.Cut(rest, to)
		found, text = append(found, inside), after
	}
}

// median does not sort times itself.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2].Round(10 * time.Microsecond)
}

package machine

import (
	"slices"
	"strings"
)

// These functions decide without a grid: claims are compared under a store's lock, and
// a request may have 256 of 1,024 bytes in the way of 256 others.
//
// Where both patterns have a wildcard, only what stands before the first and behind
// the last of them matters: the wildcard of one absorbs all between those of the other.

// overlapPaths says whether a path fits both patterns, given by their segments.
func overlapPaths(a, b []string) bool {
	i, j := slices.Index(a, "**"), slices.Index(b, "**")
	switch {
	case i < 0 && j < 0:
		return alike(a, b)
	case i < 0:
		return fitsPath(a, b)
	case j < 0:
		return fitsPath(b, a)
	}
	start, end := min(i, j), min(behindLast(a), behindLast(b))
	return alike(a[:start], b[:start]) && alike(a[len(a)-end:], b[len(b)-end:])
}

// behindLast is how many segments follow the last **.
func behindLast(segments []string) int {
	n := 0
	for segments[len(segments)-1-n] != "**" {
		n++
	}
	return n
}

// alike says whether a path fits both patterns, which have no **.
func alike(a, b []string) bool { return slices.EqualFunc(a, b, OverlapSegments) }

// fitsPath says whether a path without ** fits a pattern with it. Each part between two
// ** is put at the first place where it fits: a later one leaves less to the others.
func fitsPath(path, pattern []string) bool {
	start, end := slices.Index(pattern, "**"), behindLast(pattern)
	if start+end > len(path) || !alike(path[:start], pattern[:start]) || !alike(path[len(path)-end:], pattern[len(pattern)-end:]) {
		return false
	}
	path, pattern = path[start:len(path)-end], pattern[start:len(pattern)-end]
	for len(pattern) > 1 { // it begins and ends with **
		n := slices.Index(pattern[1:], "**")
		for len(path) >= n && !alike(path[:n], pattern[1:n+1]) {
			path = path[1:]
		}
		if len(path) < n {
			return false
		}
		path, pattern = path[n:], pattern[n+1:]
	}
	return true
}

// OverlapSegments says whether a text fits both segments, neither of which is **. It
// compares bytes, which is no trouble for letters of several: no letter's bytes begin
// inside another's.
func OverlapSegments(a, b string) bool {
	i, j := strings.IndexByte(a, '*'), strings.IndexByte(b, '*')
	switch {
	case i < 0 && j < 0:
		return a == b
	case i < 0:
		return fitsSegment(a, b)
	case j < 0:
		return fitsSegment(b, a)
	}
	start := min(i, j)
	end := min(len(a)-strings.LastIndexByte(a, '*'), len(b)-strings.LastIndexByte(b, '*')) - 1
	return a[:start] == b[:start] && a[len(a)-end:] == b[len(b)-end:]
}

// fitsSegment says whether a text without * fits a segment with it, as fitsPath does.
func fitsSegment(text, segment string) bool {
	start, rest, _ := strings.Cut(segment, "*")
	text, fits := strings.CutPrefix(text, start)
	for fits {
		part, more, found := strings.Cut(rest, "*")
		if !found {
			return strings.HasSuffix(text, rest)
		}
		_, text, fits = strings.Cut(text, part)
		rest = more
	}
	return false
}

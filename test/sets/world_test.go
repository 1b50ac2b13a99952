package sets_test

import (
	"slices"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
)

// names and patterns are what the tests claim: few, so that most of them meet. Two
// patterns of a namespace that overlap do so at one of the paths.
var (
	names    = []string{"a", "b", "c"}
	patterns = map[string][]string{
		"repo":      {"a", "b", "*", "a/**", "a/b", "*/b", "**", "b/*", "a*/b"},
		"services:": {"a", "a:**", "a:b", "*:b"},
	}
	paths = []string{"a", "b", "c", "a/a", "a/b", "b/a", "b/b", "c/b", "a/b/a"}
)

// fits says whether a path fits a pattern, by trying every length for each wildcard.
func fits(path, pattern []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return fits(path, pattern[1:]) || len(path) > 0 && fits(path[1:], pattern)
	}
	return len(path) > 0 && segmentFits(path[0], pattern[0]) && fits(path[1:], pattern[1:])
}

func segmentFits(text, pattern string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return segmentFits(text, pattern[1:]) || text != "" && segmentFits(text[1:], pattern)
	}
	return text != "" && text[0] == pattern[0] && segmentFits(text[1:], pattern[1:])
}

// things are all names and paths that a claim covers.
func things(c leasehold.Claim) (covered []string) {
	if c.Namespace == "" {
		return []string{c.Pattern}
	}
	for _, path := range paths {
		if fits(strings.Split(path, "/"), strings.Split(c.Pattern, leasehold.Separator(c.Namespace))) {
			covered = append(covered, path)
		}
	}
	return covered
}

// meets says whether two claims have a name or path in common.
func meets(a, b leasehold.Claim) bool {
	if a.Namespace != b.Namespace {
		return false
	}
	key := [3]string{a.Namespace, a.Pattern, b.Pattern}
	if known, ok := meetings.Load(key); ok {
		return known.(bool)
	}
	of := things(b)
	found := slices.ContainsFunc(things(a), func(thing string) bool { return slices.Contains(of, thing) })
	meetings.Store(key, found)
	return found
}

// meetings remembers what meets has found.
var meetings sync.Map

// meet says whether any of the claims have something in common.
func meet(a, b []leasehold.Claim) bool { return anyPair(a, b, meets) }

// exclude says whether two leases of these claims cannot live side by side.
func exclude(a, b []leasehold.Claim) bool {
	return anyPair(a, b, func(x, y leasehold.Claim) bool {
		return (x.Mode == leasehold.Exclusive || y.Mode == leasehold.Exclusive) && meets(x, y)
	})
}

func anyPair(a, b []leasehold.Claim, holds func(x, y leasehold.Claim) bool) bool {
	return slices.ContainsFunc(a, func(x leasehold.Claim) bool {
		return slices.ContainsFunc(b, func(y leasehold.Claim) bool { return holds(x, y) })
	})
}

// covers is what a request or lease claims.
func covers(resource string, claims []leasehold.Claim) []leasehold.Claim {
	if claims == nil {
		return leasehold.Resources(resource)
	}
	return claims
}

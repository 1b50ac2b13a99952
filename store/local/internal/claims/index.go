// Package claims finds, among many values, those whose claims may overlap with one.
//
// Plain names are found in a map. Patterns of a namespace stand in two tries of their
// segments, one from the first segment and one from the last; a search uses the one on
// whose side the pattern has more segments without a wildcard. Shared claims stand apart
// from exclusive ones, so that those who share need not look through each other. What is
// found is a candidate: the caller confirms the overlap by the rule of package machine.
package claims

import (
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
)

// Index has values by their claims. The zero Index is empty.
type Index[T comparable] struct {
	names  [2]map[string][]T // by mode
	spaces map[string]*space[T]
	len    int
}

// space is the patterns of one namespace.
type space[T comparable] struct {
	tries [2]tries[T] // by mode
	len   int         // values with a claim here
}

type tries[T comparable] struct{ forward, backward node[T] }

// Len returns how many values there are.
func (x *Index[T]) Len() int { return x.len }

// LenIn returns how many values have a claim in the namespace.
func (x *Index[T]) LenIn(namespace string) int {
	if s := x.spaces[namespace]; s != nil {
		return s.len
	}
	return 0
}

// HasName says whether a value claims the plain name.
func (x *Index[T]) HasName(name string) bool {
	return x.len > 0 && len(x.names[leasehold.Exclusive][name])+len(x.names[leasehold.Shared][name]) > 0
}

// Named returns the values that claim the plain name.
func (x *Index[T]) Named(name string) []T {
	return slices.Concat(x.names[leasehold.Exclusive][name], x.names[leasehold.Shared][name])
}

// Add adds a value with its claims, no two of which are the same.
func (x *Index[T]) Add(v T, claims []leasehold.Claim) {
	x.len++
	for i, c := range claims {
		if c.Namespace == "" {
			names := &x.names[c.Mode]
			if *names == nil {
				*names = map[string][]T{}
			}
			(*names)[c.Pattern] = append((*names)[c.Pattern], v)
			continue
		}
		s := x.space(c.Namespace)
		if firstOf(claims, i) {
			s.len++
		}
		segments := split(c)
		s.tries[c.Mode].forward.add(v, segments)
		slices.Reverse(segments)
		s.tries[c.Mode].backward.add(v, segments)
	}
}

// Remove removes a value that was added with these claims.
func (x *Index[T]) Remove(v T, claims []leasehold.Claim) {
	x.len--
	for i, c := range slices.Backward(claims) { // the first of a namespace last: it may drop the space
		if c.Namespace == "" {
			removeName(x.names[c.Mode], v, c.Pattern)
			continue
		}
		s := x.spaces[c.Namespace]
		segments := split(c)
		s.tries[c.Mode].forward.remove(v, segments)
		slices.Reverse(segments)
		s.tries[c.Mode].backward.remove(v, segments)
		if firstOf(claims, i) {
			if s.len--; s.len == 0 {
				delete(x.spaces, c.Namespace)
			}
		}
	}
}

func removeName[T comparable](names map[string][]T, v T, name string) {
	values := names[name]
	if len(values) == 1 {
		delete(names, name)
		return
	}
	at := slices.Index(values, v)
	names[name] = slices.Delete(values, at, at+1)
}

func (x *Index[T]) space(namespace string) *space[T] {
	s := x.spaces[namespace]
	if s == nil {
		if x.spaces == nil {
			x.spaces = map[string]*space[T]{}
		}
		s = &space[T]{}
		x.spaces[namespace] = s
	}
	return s
}

// firstOf says whether the claim is the first of its namespace.
func firstOf(claims []leasehold.Claim, i int) bool {
	return !slices.ContainsFunc(claims[:i], func(c leasehold.Claim) bool { return c.Namespace == claims[i].Namespace })
}

// Candidates calls each for every value with a claim that may conflict with c, the
// exclusive ones first, until it returns false; for some more than once. It reports
// whether each never did.
func (x *Index[T]) Candidates(c leasehold.Claim, each func(T) bool) bool {
	modes := []leasehold.Mode{leasehold.Exclusive, leasehold.Shared}
	if c.Mode == leasehold.Shared {
		modes = modes[:1]
	}
	for _, mode := range modes {
		if !x.candidates(c, mode, each) {
			return false
		}
	}
	return true
}

// candidates searches those that claim it in one mode.
func (x *Index[T]) candidates(c leasehold.Claim, mode leasehold.Mode, each func(T) bool) bool {
	if c.Namespace == "" {
		for _, v := range x.names[mode][c.Pattern] {
			if !each(v) {
				return false
			}
		}
		return true
	}
	s := x.spaces[c.Namespace]
	if s == nil {
		return true
	}
	segments := split(c)
	root := &s.tries[mode].forward
	if plainRun(segments) < plainRun(reversed(segments)) {
		root = &s.tries[mode].backward
		slices.Reverse(segments)
	}
	w := walker[T]{each: each}
	return w.walk(root, segments)
}

// split returns the segments of a pattern, each run of ** as one.
func split(c leasehold.Claim) []string {
	segments := strings.Split(c.Pattern, leasehold.Separator(c.Namespace))
	return slices.CompactFunc(segments, func(a, b string) bool { return a == "**" && b == "**" })
}

func reversed(segments []string) []string {
	segments = slices.Clone(segments)
	slices.Reverse(segments)
	return segments
}

// plainRun returns how many segments there are before the first wildcard.
func plainRun(segments []string) int {
	if at := slices.IndexFunc(segments, wild); at >= 0 {
		return at
	}
	return len(segments)
}

func wild(segment string) bool { return strings.Contains(segment, "*") }

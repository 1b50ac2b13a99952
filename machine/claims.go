package machine

import (
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
)

// Covers returns what a lease or a request covers: the claims of a set, or the resource
// itself.
func Covers(resource string, claims []leasehold.Claim) []leasehold.Claim {
	if claims != nil {
		return claims
	}
	return []leasehold.Claim{{Pattern: resource}}
}

// Covers returns what the row's lease covers.
func (r *Row) Covers() []leasehold.Claim { return Covers(r.Resource, r.Claims) }

// Compatible says whether two leases may have overlapping claims in these modes.
func Compatible(a, b leasehold.Mode) bool { return a == leasehold.Shared && b == leasehold.Shared }

// Conflict returns the first place where the claims exclude each other.
func Conflict(requested, held []leasehold.Claim) (leasehold.Overlap, bool) {
	for _, a := range requested {
		for _, b := range held {
			if a.Namespace != b.Namespace || Compatible(a.Mode, b.Mode) {
				continue
			}
			if part, ok := Overlap(a, b); ok {
				return leasehold.Overlap{Requested: a, Held: b, Part: part}, true
			}
		}
	}
	return leasehold.Overlap{}, false
}

// Conflicting is Conflict without the place.
func Conflicting(requested, held []leasehold.Claim) bool {
	for _, a := range requested {
		for _, b := range held {
			if !Compatible(a.Mode, b.Mode) && Overlaps(a, b) {
				return true
			}
		}
	}
	return false
}

// Meet says whether any two of the claims overlap, in whatever modes.
func Meet(a, b []leasehold.Claim) bool {
	return slices.ContainsFunc(a, func(x leasehold.Claim) bool {
		return slices.ContainsFunc(b, func(y leasehold.Claim) bool { return Overlaps(x, y) })
	})
}

// SamePatterns says whether the claims differ at most in their modes.
func SamePatterns(a, b []leasehold.Claim) bool {
	return slices.EqualFunc(a, b, func(x, y leasehold.Claim) bool {
		return x.Namespace == y.Namespace && x.Pattern == y.Pattern
	})
}

// Overlaps says whether a name or path fits both claims.
func Overlaps(a, b leasehold.Claim) bool {
	switch {
	case a.Namespace != b.Namespace:
		return false
	case a.Pattern == b.Pattern:
		return true
	case a.Namespace == "" || literal(a.Pattern) && literal(b.Pattern):
		return false
	}
	separator := leasehold.Separator(a.Namespace)
	var as, bs [leasehold.MaxSegments]string // nearly all fit: comparing under a lock must not allocate
	return overlapPaths(appendSegments(as[:0], a.Pattern, separator), appendSegments(bs[:0], b.Pattern, separator))
}

// appendSegments appends what strings.Split returns.
func appendSegments(segments []string, pattern, separator string) []string {
	for {
		segment, rest, more := strings.Cut(pattern, separator)
		segments = append(segments, segment)
		if !more {
			return segments
		}
		pattern = rest
	}
}

// Overlap returns a pattern that fits into both claims, if there is one. If one of
// them is a path without wildcards, it is that one.
func Overlap(a, b leasehold.Claim) (part string, ok bool) {
	if !Overlaps(a, b) {
		return "", false
	}
	if a.Pattern == b.Pattern {
		return a.Pattern, true
	}
	separator := leasehold.Separator(a.Namespace)
	as, bs := strings.Split(a.Pattern, separator), strings.Split(b.Pattern, separator)
	return strings.Join(meetPaths(as, bs), separator), true
}

func literal(pattern string) bool { return !strings.Contains(pattern, "*") }

package claims

import (
	"slices"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"pgregory.net/rapid"
)

// drawClaim draws a claim of few letters, so that many overlap.
func drawClaim(t *rapid.T) leasehold.Claim {
	c := drawPattern(t)
	c.Mode = rapid.SampledFrom([]leasehold.Mode{leasehold.Exclusive, leasehold.Shared}).Draw(t, "mode")
	return c
}

func drawPattern(t *rapid.T) leasehold.Claim {
	namespace := rapid.SampledFrom([]string{"", "n", "m", "s:"}).Draw(t, "namespace")
	if namespace == "" {
		return leasehold.Claim{Pattern: rapid.SampledFrom([]string{"a", "b", "*", "a/b"}).Draw(t, "name")}
	}
	segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "*", "a*", "*b", "**"}), 1, 5).Draw(t, "segments")
	return leasehold.Claim{Namespace: namespace, Pattern: strings.Join(segments, leasehold.Separator(namespace))}
}

func drawClaims(t *rapid.T) []leasehold.Claim {
	return rapid.SliceOfNDistinct(rapid.Custom(drawClaim), 1, 4, func(c leasehold.Claim) [2]string {
		return [2]string{c.Namespace, c.Pattern}
	}).Draw(t, "claims")
}

// TestCandidates: whatever was added and removed, no value that conflicts is missed,
// none that was removed is found, and an empty index has no nodes.
func TestCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Index[int]
		values := map[int][]leasehold.Claim{}
		for next := range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(values) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				for v, claims := range values {
					x.Remove(v, claims)
					delete(values, v)
					break
				}
				continue
			}
			values[next] = drawClaims(t)
			x.Add(next, values[next])
		}
		verify(t, &x, values, drawClaim(t))
		for v, claims := range values {
			x.Remove(v, claims)
		}
		if x.Len() != 0 || len(x.names[0])+len(x.names[1]) != 0 || len(x.spaces) != 0 {
			t.Fatalf("empty, the index has %d values, %d names, %d namespaces", x.Len(), len(x.names[0])+len(x.names[1]), len(x.spaces))
		}
	})
}

func verify(t *rapid.T, x *Index[int], values map[int][]leasehold.Claim, c leasehold.Claim) {
	found := map[int]bool{}
	x.Candidates(c, func(v int) bool {
		found[v] = true
		if values[v] == nil {
			t.Fatalf("Candidates(%v) has %d, which is not there", c, v)
		}
		return true
	})
	in := 0
	for v, claims := range values {
		if machine.Conflicting([]leasehold.Claim{c}, claims) && !found[v] {
			t.Fatalf("Candidates(%v) misses %v", c, claims)
		}
		if slices.ContainsFunc(claims, func(have leasehold.Claim) bool { return have.Namespace == c.Namespace }) {
			in++
		}
	}
	if c.Namespace != "" && x.LenIn(c.Namespace) != in {
		t.Fatalf("LenIn(%q) = %d, want %d", c.Namespace, x.LenIn(c.Namespace), in)
	}
	if x.Len() != len(values) {
		t.Fatalf("Len() = %d, want %d", x.Len(), len(values))
	}
	calls := 0
	if whole := x.Candidates(c, func(int) bool { calls++; return false }); whole != (len(found) == 0) || calls > 1 {
		t.Fatalf("Candidates(%v) = %v after %d calls that end it; %d candidates", c, whole, calls, len(found))
	}
}

// TestNamed: all who claim a name are found, in whatever mode.
func TestNamed(t *testing.T) {
	var x Index[int]
	claim := func(v int) []leasehold.Claim {
		return []leasehold.Claim{{Pattern: "r", Mode: leasehold.Mode(v % 2)}}
	}
	for v := range 6 {
		x.Add(v, claim(v))
	}
	x.Remove(1, claim(1))
	x.Remove(2, claim(2))
	if got := x.Named("r"); !slices.Equal(got, []int{0, 4, 3, 5}) || !x.HasName("r") {
		t.Errorf("Named(r) = %v, HasName(r) = %v, want [0 4 3 5], true", got, x.HasName("r"))
	}
	if got := x.Named("other"); len(got) > 0 || x.HasName("other") {
		t.Errorf("Named(other) = %v, HasName(other) = %v, want none", got, x.HasName("other"))
	}
}

// TestHostilePatterns: a search ends soon, however often ** stands in the patterns.
func TestHostilePatterns(t *testing.T) {
	var x Index[int]
	deep := strings.TrimSuffix(strings.Repeat("**/a/", leasehold.MaxSegments/2), "/")
	x.Add(1, leasehold.Paths("n", deep+"x"))
	path := strings.TrimSuffix(strings.Repeat("a/", leasehold.MaxSegments), "/")
	for _, query := range []string{path, deep, "*/" + path[2:], path[2:] + "/**"} {
		n := 0
		x.Candidates(leasehold.Claim{Namespace: "n", Pattern: query}, func(int) bool { n++; return true })
		if n > leasehold.MaxSegments {
			t.Errorf("Candidates(%.20q) found one value %d times", query, n)
		}
	}
}

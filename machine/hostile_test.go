package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// hostile are patterns at the limits that would make a careless comparison slow, up to
// a last letter in which two of them may differ.
var hostile = map[string]string{
	"stars in one segment":        strings.Repeat("*a", 500),
	"stars before a letter":       strings.Repeat("*a", 499) + "*b",
	"a long segment":              strings.Repeat("a", 1000),
	"many stars":                  strings.Repeat("*/", 62),
	"many double stars":           strings.Repeat("**/a/", 31),
	"double stars between others": strings.Repeat("*/**/", 31),
	"stars in many segments":      strings.Repeat("*a*a*a*a/", 60),
	"stars and double stars":      strings.Repeat("**/*a*a*a*a/", 31),
	"one long part":               "**/" + strings.Repeat("a/", 30) + "b/**/",
	"a long path":                 strings.Repeat("a/", 62),
}

// hostileClaims are as many of one pattern as a request may have, none of which
// overlaps with those of another last letter.
func hostileClaims(name, last string) (claims []leasehold.Claim) {
	size := 0
	for i := range leasehold.MaxClaims {
		c := leasehold.Claim{Namespace: "repo", Pattern: fmt.Sprintf("%s%d%s", hostile[name], i, last)}
		if size += len(c.Namespace) + len(c.Pattern); size > leasehold.MaxClaimsSize {
			break
		}
		claims = append(claims, c)
	}
	return claims
}

// TestHostilePatterns: a store compares claims under its lock, so the worst that two
// requests can have must not hold it up. The grids that find the overlapping part took
// 3 s here. The limit is far above what is needed, for slow machines and the race
// detector, and counts the processor's time, which other work on the machine does not
// stretch; BenchmarkConflicting has the figures.
func TestHostilePatterns(t *testing.T) {
	for a := range hostile {
		for b := range hostile {
			if a <= b {
				verifySoon(t, "Conflicting", a, b, func(x, y []leasehold.Claim) bool { return !machine.Conflicting(x, y) })
			}
		}
		verifySoon(t, "Overlap", a, a, func(x, y []leasehold.Claim) bool {
			part, ok := machine.Overlap(cut(x), cut(y))
			return ok && part != ""
		})
	}
}

// verifySoon calls compare with the worst claims of two patterns, none of which overlap.
func verifySoon(t *testing.T, name, a, b string, compare func(x, y []leasehold.Claim) (right bool)) {
	t.Helper()
	const most = 2 * time.Second
	x, y := hostileClaims(a, "x"), hostileClaims(b, "y")
	if err := leasehold.CheckClaims(x); err != nil {
		t.Fatalf("%s: %v; want claims that a store compares", a, err)
	}
	start := processorTime()
	if !compare(x, y) {
		t.Errorf("%s(%s, %s) is wrong", name, a, b)
	}
	if took := processorTime() - start; took > most {
		t.Errorf("%s(%s, %s) takes %v, want at most %v", name, a, b, took, most)
	}
}

// TestComparingAllocatesNothing: half a second of the worst comparison was the garbage
// of splitting each pattern once for each other one.
func TestComparingAllocatesNothing(t *testing.T) {
	for name := range hostile {
		x, y := hostileClaims(name, "x")[:8], hostileClaims(name, "y")[:8]
		if strings.Count(x[0].Pattern, "/") >= 64 {
			continue // longer paths than people have
		}
		if n := testing.AllocsPerRun(1, func() { machine.Conflicting(x, y) }); n != 0 {
			t.Errorf("Conflicting(%s) allocates %v times, want none", name, n)
		}
	}
}

// cut is the first claim without its last letter, so that it overlaps with more.
func cut(claims []leasehold.Claim) leasehold.Claim {
	c := claims[0]
	c.Pattern = strings.TrimRight(c.Pattern, "xy") + "*"
	return c
}

// BenchmarkConflicting is the worst that two requests at the limits can do.
func BenchmarkConflicting(b *testing.B) {
	for name := range hostile {
		x, y := hostileClaims(name, "x"), hostileClaims(name, "y")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				machine.Conflicting(x, y)
			}
		})
	}
}

// BenchmarkOverlap is one comparison as it usually is, and the worst one.
func BenchmarkOverlap(b *testing.B) {
	for _, tt := range []struct{ name, a, b string }{
		{"paths", "src/server/auth/token.go", "src/server/auth/tokens.go"},
		{"folder", "src/server/auth/**", "src/server/auth/token.go"},
		{"patterns", "src/**/*_test.go", "src/server/**"},
		{"hostile", strings.Repeat("*a", 500) + "*", strings.Repeat("*b", 500) + "*"},
	} {
		x, y := leasehold.Claim{Namespace: "repo", Pattern: tt.a}, leasehold.Claim{Namespace: "repo", Pattern: tt.b}
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				machine.Overlap(x, y)
			}
		})
	}
}

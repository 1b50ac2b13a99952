package repo

import (
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

func TestPattern(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("d/", 70), "/")
	long := strings.Repeat(strings.Repeat("n", 255)+"/", 5) + "end"
	for path, want := range map[string]string{
		"src/pay.go":              "src/pay.go",
		"a b/ü.go":                "a b/ü.go",
		".":                       "**",
		"":                        "**",
		"a*b":                     "a*b",
		"**":                      "*",
		"a**b/***":                "a*b/*",
		`a\b`:                     "a*b",
		"a\n\tb":                  "a*b",
		"a\xff\xfeb":              "a*b",
		"a\ufffdb":                "a\ufffdb",
		"\u0085":                  "*",
		deep:                      strings.Repeat("d/", 63) + "**",
		long:                      strings.Repeat(strings.Repeat("n", 255)+"/", 3) + "**",
		strings.Repeat("n", 2000): "**",
	} {
		if got := Pattern(path); got != want {
			t.Errorf("Pattern(%q) = %q, want %q", path, got, want)
		}
	}
}

// FuzzPattern shows that a pattern is always valid, that it covers its own path, and
// that two spellings of one path overlap.
func FuzzPattern(f *testing.F) {
	for _, path := range []string{"a/b", "**", "a**b", `\`, "\xff", "x\ny", strings.Repeat("a/", 100), strings.Repeat("ü", 600)} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		claim := Name{"shop", path}.Claim()
		if err := leasehold.CheckClaims([]leasehold.Claim{claim}); err != nil {
			t.Fatalf("Pattern(%q) = %q: %v", path, claim.Pattern, err)
		}
		if parts := segments(path); len(parts) > 0 && len(parts) <= leasehold.MaxSegments && len(path) < 900 && !strings.ContainsAny(path, "*") {
			plain := leasehold.Claim{Namespace: "shop", Pattern: strings.Join(parts, "/")}
			if path != "." && !machine.Overlaps(claim, plain) {
				t.Fatalf("Pattern(%q) = %q does not cover it", path, claim.Pattern)
			}
		}
	})
}

// A file whose claim would cover a folder, or that no system could open, has no name.
func TestNoName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/", "*", "a/**", "a/\n", "a/\u0085\t", strings.Repeat("n", 2000) + "/x", strings.Repeat("n/", 3000)} {
		if names, err := Locate(dir, name); err == nil {
			t.Errorf("Locate(%.40q) = %.200v, want an error", name, names)
		}
	}
	if names, err := Locate(dir, "a*/*b"); err != nil || !strings.HasSuffix(names[0].Claim().Pattern, "/a*/*b") {
		t.Errorf("Locate(a*/*b) = %v, %v, want a name", names, err)
	}
}

package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// fitsPlainly is the meaning of a pattern as directly as it can be said: it tries every
// length for each wildcard.
func fitsPlainly(path, pattern []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return fitsPlainly(path, pattern[1:]) || len(path) > 0 && fitsPlainly(path[1:], pattern)
	}
	return len(path) > 0 && segmentFits(path[0], pattern[0]) && fitsPlainly(path[1:], pattern[1:])
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

// expansion knows for each pattern which paths of a small world fit it.
type expansion struct {
	namespace string
	paths     [][]string
	known     map[string][]bool
}

func newExpansion(namespace string, paths [][]string) *expansion {
	return &expansion{namespace: namespace, paths: paths, known: map[string][]bool{}}
}

func (e *expansion) fitting(pattern string) []bool {
	if fits, ok := e.known[pattern]; ok {
		return fits
	}
	fits, segments := make([]bool, len(e.paths)), strings.Split(pattern, leasehold.Separator(e.namespace))
	for i, path := range e.paths {
		fits[i] = fitsPlainly(path, segments)
	}
	e.known[pattern] = fits
	return fits
}

// verify compares Overlap with the paths that fit both patterns.
func (e *expansion) verify(t testing.TB, a, b string) {
	t.Helper()
	x, y := leasehold.Claim{Namespace: e.namespace, Pattern: a}, leasehold.Claim{Namespace: e.namespace, Pattern: b}
	both := false
	ofA, ofB := e.fitting(a), e.fitting(b)
	for i := range e.paths {
		both = both || ofA[i] && ofB[i]
	}
	part, ok := machine.Overlap(x, y)
	if _, back := machine.Overlap(y, x); ok != both || back != both || machine.Overlaps(x, y) != both || machine.Overlaps(y, x) != both {
		t.Fatalf("Overlap(%q, %q) = %t, the other way round %t; want %t", a, b, ok, back, both)
	}
	if ok {
		e.verifyPart(t, a, b, part)
	}
}

// verifyPart expects a pattern that could be claimed, and every path of which fits both.
func (e *expansion) verifyPart(t testing.TB, a, b, part string) {
	t.Helper()
	if err := leasehold.CheckClaims(leasehold.Paths(e.namespace, part)); err != nil {
		t.Fatalf("Overlap(%q, %q) = %q, which is no pattern: %v", a, b, part, err)
	}
	some := false
	ofA, ofB := e.fitting(a), e.fitting(b)
	for i, fits := range e.fitting(part) {
		if fits && !(ofA[i] && ofB[i]) {
			t.Fatalf("Overlap(%q, %q) = %q, but %q fits only that", a, b, part, e.paths[i])
		}
		some = some || fits
	}
	if !some {
		t.Fatalf("Overlap(%q, %q) = %q, which no path fits", a, b, part)
	}
	for _, p := range []string{a, b} {
		if !strings.Contains(p, "*") && part != p {
			t.Fatalf("Overlap(%q, %q) = %q, want the path itself", a, b, part)
		}
	}
}

// words returns all sequences of one to most elements.
func words(elements []string, most int) (all [][]string) {
	last := [][]string{nil}
	for range most {
		var next [][]string
		for _, w := range last {
			for _, e := range elements {
				next = append(next, append(w[:len(w):len(w)], e))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// segments returns all segments of one to most of the letters.
func segments(letters string, most int) (all []string) {
	for _, w := range words(strings.Split(letters, ""), most) {
		if s := strings.Join(w, ""); !strings.Contains(s, "**") {
			all = append(all, s)
		}
	}
	return all
}

// namespaces have both separators.
var namespaces = []string{"repo", "services:"}

// TestOverlapOfSegments compares all segments of up to four letters. Two of them that
// overlap do so at a text of at most six.
func TestOverlapOfSegments(t *testing.T) {
	var texts [][]string
	for _, s := range segments("ab", 6) {
		texts = append(texts, []string{s})
	}
	e := newExpansion("repo", texts)
	all := segments("ab*", 4)
	for _, a := range all {
		for _, b := range all {
			e.verify(t, a, b)
		}
	}
}

// pathSegments are such that two of them that overlap do so at one of pathTexts.
var (
	pathSegments = []string{"a", "b", "*", "a*", "*b", "**"}
	pathTexts    = []string{"a", "b", "ab"}
)

// TestOverlapOfPaths compares all patterns of up to three segments, and of two with the
// other separator.
func TestOverlapOfPaths(t *testing.T) {
	for i, namespace := range namespaces {
		e := newExpansion(namespace, words(pathTexts, 6))
		var all []string
		for _, w := range words(pathSegments, 3-i) {
			all = append(all, strings.Join(w, leasehold.Separator(namespace)))
		}
		for i, a := range all {
			for _, b := range all[i:] {
				e.verify(t, a, b)
			}
		}
	}
}

// TestOverlapAgreesWithExpansion draws longer patterns. Two of up to four segments that
// overlap do so at a path of at most six, and those of two letters at texts of at most
// four.
func TestOverlapAgreesWithExpansion(t *testing.T) {
	worlds := map[string]*expansion{}
	for _, namespace := range namespaces {
		worlds[namespace] = newExpansion(namespace, words(pathTexts, 6))
	}
	rapid.Check(t, func(rt *rapid.T) {
		e := worlds[rapid.SampledFrom(namespaces).Draw(rt, "namespace")]
		pattern := rapid.SliceOfN(rapid.SampledFrom(pathSegments), 1, 4)
		for range 20 {
			a, b := pattern.Draw(rt, "a"), pattern.Draw(rt, "b")
			separator := leasehold.Separator(e.namespace)
			e.verify(t, strings.Join(a, separator), strings.Join(b, separator))
		}
	})
}

// TestOverlapExamples shows what people claim, and the part that a refusal names.
func TestOverlapExamples(t *testing.T) {
	for _, tt := range []struct {
		namespace, a, b string
		part            string // empty: they do not overlap
	}{
		{"", "job", "job", "job"},
		{"", "job", "jobs", ""},
		{"", "*", "job", ""}, // plain data in a name
		{"", "a/**", "a/b", ""},
		{"repo", "src/**", "src", "src"},
		{"repo", "src/**", "src/auth/token.go", "src/auth/token.go"},
		{"repo", "src/**", "source/token.go", ""},
		{"repo", "src/auth/**", "src/*/token.go", "src/auth/token.go"},
		{"repo", "docs/*.md", "docs/a*", "docs/a*.md"},
		{"repo", "docs/*.md", "docs/a/b.md", ""},
		{"repo", "**", "go.mod", "go.mod"},
		{"repo", "**/test/**", "src/**", "src/**/test/**"},
		{"repo", "**/*_test.go", "src/**", "src/**/*_test.go"},
		{"repo", "a/**/b", "a/b", "a/b"},
		{"repo", "é*", "*è", "é*è"},
		{"repo", "é", "è", ""}, // their first bytes are the same
		{"repo", "prod:us", "prod:us:eu", ""},
		{"services:", "prod:us:**", "prod:*:db", "prod:us:db"},
		{"services:", "prod:us:**", "prod:eu:db", ""},
	} {
		x, y := leasehold.Claim{Namespace: tt.namespace, Pattern: tt.a}, leasehold.Claim{Namespace: tt.namespace, Pattern: tt.b}
		if part, ok := machine.Overlap(x, y); part != tt.part || ok != (tt.part != "") {
			t.Errorf("Overlap(%q, %q) = %q, %t; want %q", x, y, part, ok, tt.part)
		}
		y.Namespace += "other"
		if part, ok := machine.Overlap(x, y); ok || part != "" || machine.Overlaps(x, y) {
			t.Errorf("Overlap(%q, %q) = %q, %t; want nothing in different namespaces", x, y, part, ok)
		}
	}
}

// TestConflict: claims exclude each other where they overlap, unless both are shared.
func TestConflict(t *testing.T) {
	const x, s = leasehold.Exclusive, leasehold.Shared
	claim := func(pattern string, m leasehold.Mode) leasehold.Claim {
		return leasehold.Claim{Namespace: "repo", Pattern: pattern, Mode: m}
	}
	name := func(name string, m leasehold.Mode) leasehold.Claim { return leasehold.Claim{Pattern: name, Mode: m} }
	claims := func(c ...leasehold.Claim) []leasehold.Claim { return c }
	for _, tt := range []struct {
		name            string
		requested, held []leasehold.Claim
		want            *leasehold.Overlap
		meet            bool
	}{
		{"exclusive, exclusive", claims(claim("a", x)), claims(claim("a", x)), &leasehold.Overlap{Requested: claim("a", x), Held: claim("a", x), Part: "a"}, true},
		{"exclusive, shared", claims(claim("a", x)), claims(claim("*", s)), &leasehold.Overlap{Requested: claim("a", x), Held: claim("*", s), Part: "a"}, true},
		{"shared, exclusive", claims(claim("a", s)), claims(claim("**", x)), &leasehold.Overlap{Requested: claim("a", s), Held: claim("**", x), Part: "a"}, true},
		{"shared, shared", claims(claim("a", s)), claims(claim("a", s)), nil, true},
		{"apart", claims(claim("a", x)), claims(claim("b", x)), nil, false},
		{"another namespace", claims(claim("a", x)), claims(name("a", x)), nil, false},
		{"plain names", claims(name("a", x)), claims(name("a", s)), &leasehold.Overlap{Requested: name("a", x), Held: name("a", s), Part: "a"}, true},
		{"the first of several", claims(claim("c", x), claim("b", s), claim("a", x)), claims(claim("*", s), claim("b", x), claim("a", x)),
			&leasehold.Overlap{Requested: claim("c", x), Held: claim("*", s), Part: "c"}, true},
		{"past shared ones", claims(claim("b", s), claim("a", s)), claims(claim("*", s), claim("a*", x)),
			&leasehold.Overlap{Requested: claim("a", s), Held: claim("a*", x), Part: "a"}, true},
		{"none", nil, claims(claim("**", x)), nil, false},
	} {
		place, ok := machine.Conflict(tt.requested, tt.held)
		var got *leasehold.Overlap
		if ok {
			got = &place
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Conflict(%s) (-want +got):\n%s", tt.name, diff)
		}
		if got, back := machine.Conflicting(tt.requested, tt.held), machine.Conflicting(tt.held, tt.requested); got != ok || back != ok {
			t.Errorf("Conflicting(%s) = %t, the other way round %t; want %t as Conflict", tt.name, got, back, ok)
		}
		if got := machine.Meet(tt.requested, tt.held); got != tt.meet {
			t.Errorf("Meet(%s) = %t, want %t", tt.name, got, tt.meet)
		}
	}
}

func TestCovers(t *testing.T) {
	plain, set := machine.Row{Resource: "a*"}, machine.Row{Resource: "__set__7", Claims: leasehold.Paths("repo", "a", "b")}
	if diff := cmp.Diff(leasehold.Resources("a*"), plain.Covers()); diff != "" {
		t.Errorf("Covers of a plain row (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(set.Claims, set.Covers()); diff != "" {
		t.Errorf("Covers of a set (-want +got):\n%s", diff)
	}
}

// FuzzOverlap compares any two patterns in both directions, and the part with both.
func FuzzOverlap(f *testing.F) {
	for _, s := range [][2]string{
		{"src/**", "src"}, {"**/*_test.go", "src/**/a*"}, {"*a*b*", "*b*a*"}, {"**/**", "**"}, {"a/**/b/**/c", "**/b/**"},
		{"é*", "*è"}, {"*/*", "**"}, {"**/a/a/b/**", "a/a/a/b"}, {"*ab*ab", "abab"}, {"aa*aa", "aaa"},
	} {
		f.Add(s[0], s[1], false)
		f.Add(strings.ReplaceAll(s[0], "/", ":"), strings.ReplaceAll(s[1], "/", ":"), true)
	}
	f.Fuzz(func(t *testing.T, a, b string, colon bool) {
		namespace := namespaces[0]
		if colon {
			namespace = namespaces[1]
		}
		x, y := leasehold.Claim{Namespace: namespace, Pattern: a}, leasehold.Claim{Namespace: namespace, Pattern: b}
		if leasehold.CheckClaims([]leasehold.Claim{x}) != nil || leasehold.CheckClaims([]leasehold.Claim{y}) != nil {
			return
		}
		part, ok := machine.Overlap(x, y)
		if machine.Overlaps(x, y) != ok || machine.Overlaps(y, x) != ok {
			t.Fatalf("Overlap(%q, %q) = %t, but not each way", a, b, ok)
		}
		if !ok {
			return
		}
		p := leasehold.Claim{Namespace: namespace, Pattern: part}
		if part == "" || !machine.Overlaps(p, x) || !machine.Overlaps(p, y) {
			t.Fatalf("Overlap(%q, %q) = %q, which does not overlap with both", a, b, part)
		}
		for _, text := range []string{"", "q", "*"} { // paths that fit the part, "*" as an ordinary letter
			separator := leasehold.Separator(namespace)
			path := strings.Split(strings.ReplaceAll(part, "*", text), separator)
			if len(a)+len(b) < 40 && !strings.Contains(part, "**") &&
				!(fitsPlainly(path, strings.Split(a, separator)) && fitsPlainly(path, strings.Split(b, separator))) {
				t.Fatalf("Overlap(%q, %q) = %q, but %q does not fit both", a, b, part, path)
			}
		}
	})
}

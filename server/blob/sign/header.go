package sign

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// eachOrder puts the x-ms- headers between head and tail, sorted as Azure does
// and sorted by bytes.
//
// The service sorts like a dictionary, and SDKs that learned this sort so too;
// older SDKs and most hand-written clients sort by bytes. The two differ only
// for unusual names (x-ms-meta-a_b beside x-ms-meta-a1), so usually one text
// comes back. What is signed is the same set of headers either way.
func eachOrder(h http.Header, head, tail string) []string {
	var headers []line
	for name, values := range h {
		name = strings.TrimSpace(name)
		if len(name) > len(signedPrefix) && strings.EqualFold(name[:len(signedPrefix)], signedPrefix) {
			headers = append(headers, line{strings.ToLower(name), joined(values)})
		}
	}
	slices.SortFunc(headers, func(a, b line) int { return compareNames(a.name, b.name) })
	texts := []string{text(head, headers, tail)}
	plain := func(a, b line) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(headers, plain) {
		slices.SortFunc(headers, plain)
		texts = append(texts, text(head, headers, tail))
	}
	return texts
}

const signedPrefix = "x-ms-"

// line is a header as it is signed.
type line struct{ name, value string }

func text(head string, headers []line, tail string) string {
	var b strings.Builder
	b.Grow(len(head) + 64*len(headers) + len(tail))
	b.WriteString(head)
	for _, l := range headers {
		b.WriteString(l.name)
		b.WriteByte(':')
		b.WriteString(l.value)
		b.WriteByte('\n')
	}
	b.WriteString(tail)
	return b.String()
}

func sortedNames[M ~map[string]V, V any](m M, compare func(a, b string) int) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, compare)
	return names
}

// joined is a header's value on one line: trimmed, several values with a comma
// between them, a folded one with one space in the place of each fold. Spaces
// inside a line stay as they are: the SDKs sign them so.
func joined(values []string) string {
	all := strings.Join(values, ",")
	if !strings.ContainsAny(all, "\r\n") {
		return strings.TrimSpace(all)
	}
	var parts []string
	for part := range strings.FieldsFuncSeq(all, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// letters are the characters of a header's name in the order of the dictionary.
// A hyphen and an apostrophe are not among them: the dictionary looks at these
// only when the names are otherwise the same.
const letters = "!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz"

// compareNames is the dictionary's order of two names in lower case.
func compareNames(a, b string) int {
	for i, j := 0, 0; ; {
		var x, y int
		x, i = nextLetter(a, i)
		y, j = nextLetter(b, j)
		if x != y {
			return cmp.Compare(x, y)
		}
		if x < 0 {
			return compareMarks(a, b)
		}
	}
}

// nextLetter is the rank of the first letter at or after i, and where to go on;
// -1 at the end, so that the shorter of two names comes first.
func nextLetter(name string, i int) (rank, next int) {
	for ; i < len(name); i++ {
		if rank := strings.IndexByte(letters, name[i]); rank >= 0 {
			return rank, i + 1
		}
	}
	return -1, i
}

// compareMarks orders names that differ only in what is no letter: the one that
// has a mark where the other has none comes later.
func compareMarks(a, b string) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(mark(a[i]), mark(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func mark(c byte) int { return strings.IndexByte("'-", c) }

package sign

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// anyOrder builds the text that was signed, of the first lines, the x-ms-
// headers and what appendResource adds, and reports whether it was. It tries the
// headers sorted as Azure does, and sorted by bytes.
//
// The service sorts like a dictionary, and SDKs that learned this sort so too;
// older SDKs and most hand-written clients sort by bytes. The two differ only
// for unusual names (x-ms-meta-a_b beside x-ms-meta-a1), so usually there is one
// text. What is signed is the same set of headers either way.
func anyOrder(h http.Header, appendResource func([]byte) []byte, signed func([]byte) bool, firstLines ...string) bool {
	var array [16]line // most requests have fewer
	headers := array[:0]
	for name, values := range h {
		name = strings.TrimSpace(name)
		if len(name) > len(signedPrefix) && strings.EqualFold(name[:len(signedPrefix)], signedPrefix) {
			headers = append(headers, line{name, joined(values)})
		}
	}
	buf := texts.Get().(*[]byte)
	defer texts.Put(buf)
	slices.SortFunc(headers, func(a, b line) int { return compareNames(a.name, b.name) })
	*buf = appendResource(appendLines((*buf)[:0], firstLines, headers))
	if signed(*buf) {
		return true
	}
	if slices.IsSortedFunc(headers, compareBytes) {
		return false
	}
	slices.SortFunc(headers, compareBytes)
	*buf = appendResource(appendLines((*buf)[:0], firstLines, headers))
	return signed(*buf)
}

// texts are buffers for one text each.
var texts = sync.Pool{New: func() any { b := make([]byte, 0, usualText); return &b }}

const (
	signedPrefix = "x-ms-"
	usualText    = 640 // bytes; longer ones grow
)

// line is a header as it is signed, except that the name is in lower case then.
type line struct{ name, value string }

func compareBytes(a, b line) int {
	for i := range min(len(a.name), len(b.name)) {
		if c := cmp.Compare(lower(a.name[i]), lower(b.name[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a.name), len(b.name))
}

func appendLines(b []byte, firstLines []string, headers []line) []byte {
	for _, text := range firstLines {
		b = append(append(b, text...), '\n')
	}
	for _, l := range headers {
		for i := range len(l.name) {
			b = append(b, lower(l.name[i]))
		}
		b = append(append(b, ':'), l.value...)
		b = append(b, '\n')
	}
	return b
}

// lower of a letter in the name of a header, which are those of ASCII.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// joined is a header's value on one line: trimmed, several values with a comma
// between them, a folded one with one space in the place of each fold. Spaces
// inside a line stay as they are: the SDKs sign them so.
func joined(values []string) string {
	all := strings.Join(values, ",")
	if strings.IndexByte(all, '\r') < 0 && strings.IndexByte(all, '\n') < 0 {
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

// letters are the characters of a header's name in dictionary order.
// A hyphen and an apostrophe are not among them: the dictionary looks at these
// only when the names are otherwise the same.
const letters = "!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz"

// ranks are the places of all characters in letters, -1 for those not there.
// Upper case counts as lower case.
var ranks = func() (all [256]int8) {
	for c := range all {
		all[c] = int8(strings.IndexByte(letters, lower(byte(c))))
	}
	return all
}()

// compareNames is the dictionary's order of two names.
func compareNames(a, b string) int {
	for i, j := 0, 0; ; {
		var x, y int8
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
func nextLetter(name string, i int) (rank int8, next int) {
	for ; i < len(name); i++ {
		if rank := ranks[name[i]]; rank >= 0 {
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
	return cmp.Or(cmp.Compare(len(a), len(b)), compareBytes(line{name: a}, line{name: b}))
}

func mark(c byte) int { return strings.IndexByte("'-", c) }

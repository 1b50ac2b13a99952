package server

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

// span is a range of a blob: n bytes from offset on.
type span struct{ offset, n int64 }

// openEnd stands for the last byte, whatever its number.
const openEnd = -1

// byteRange reads a range of bytes, first and last, from x-ms-range or else
// Range; the last one may be open. Found is false if there is none, or none that
// this protocol has: suffixes and lists are ignored, as Azure does.
func (c *call) byteRange() (first, last int64, found bool) { return parseRange(c.rangeText()) }

func (c *call) rangeText() string {
	return cmp.Or(c.r.Header.Get("x-ms-range"), c.r.Header.Get("Range"))
}

func parseRange(text string) (first, last int64, found bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "bytes=")
	from, to, ok2 := strings.Cut(text, "-")
	if !ok || !ok2 {
		return 0, 0, false
	}
	first, ok = parseOffset(from)
	if !ok {
		return 0, 0, false
	}
	if to == "" {
		return first, openEnd, true
	}
	if last, ok = parseOffset(to); !ok || last < first {
		return 0, 0, false
	}
	return first, last, true
}

// maxOffset is far beyond every blob, and leaves room to count from it.
const maxOffset = math.MaxInt64 - 1

// parseOffset reads digits only: no sign, no space. What is too large to count is
// as good as the largest offset.
func parseOffset(text string) (int64, bool) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return min(n, maxOffset), err == nil || errors.Is(err, strconv.ErrRange)
}

// within cuts a range down to a blob of this size.
func within(first, last, size int64) (span, error) {
	if first >= size {
		err := azerr.New(azerr.InvalidRange)
		err.Header = http.Header{"Content-Range": {fmt.Sprintf("bytes */%d", size)}}
		return span{}, err
	}
	if last == openEnd || last >= size {
		last = size - 1
	}
	return span{first, last - first + 1}, nil
}

// pageRange reads a range that must be there, with both ends, and be of whole
// pages.
func (c *call) pageRange() (span, error) {
	first, last, found := c.byteRange()
	switch {
	case c.rangeText() == "":
		return span{}, noHeader("x-ms-range")
	case !found || last == openEnd:
		return span{}, badHeader("x-ms-range", "it must be bytes=first-last")
	}
	at := span{first, last - first + 1}
	if at.offset%512 != 0 || at.n%512 != 0 {
		return span{}, azerr.New(azerr.InvalidPageRange)
	}
	return at, nil
}

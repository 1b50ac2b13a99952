// Package lists has what the lists of stores share: their cursors and filters.
package lists

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
)

// Cursor makes an opaque cursor out of the last name of a page. The checksum tells
// it from garbage.
func Cursor(name string) string {
	sum := binary.BigEndian.AppendUint32([]byte(name), crc32.ChecksumIEEE([]byte(name)))
	return base64.RawURLEncoding.EncodeToString(sum)
}

// ParseCursor returns the name, which is not empty.
func ParseCursor(c string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err != nil || len(b) <= 4 || Cursor(string(b[:len(b)-4])) != c {
		return "", BadCursor()
	}
	return string(b[:len(b)-4]), nil
}

// CursorOf makes an opaque cursor out of a position. The kind keeps those of lists and
// histories apart.
func CursorOf(kind, position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + position))
}

// ParseCursorOf returns the position.
func ParseCursorOf(kind, c string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(c)
	position, ours := strings.CutPrefix(string(text), kind+":")
	if err != nil || !ours || CursorOf(kind, position) != c { // the decoder is lenient
		return "", BadCursor()
	}
	return position, nil
}

// BadCursor is the error of a cursor that no list gave out.
func BadCursor() error {
	return leasehold.Invalid("cursor", "is not one that this list gave out; start again without it")
}

// Matches reports whether the request's filters of state and metadata let a lease
// through. Without a state in the request it has to be live.
func Matches(r leasehold.ListRequest, state leasehold.State, metadata map[string]string) bool {
	switch {
	case state == leasehold.StateAvailable,
		len(r.States) == 0 && !state.Locked(),
		len(r.States) > 0 && !slices.Contains(r.States, state):
		return false
	}
	for k, v := range r.Metadata {
		if got, ok := metadata[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Package lists has what the lists of stores share: their cursors and filters.
package lists

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"

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
		return "", leasehold.Invalid("cursor", "is not one that this list gave out; start again without it")
	}
	return string(b[:len(b)-4]), nil
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

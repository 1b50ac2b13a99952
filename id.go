package leasehold

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// ID is the secret handle of a lease: a caller that shows it may renew, change,
// transfer or release. It is a UUID, so letter case never matters.
//
// An ID does not print. Every verb of package fmt that go vet accepts, log/slog
// and encoding/json show a placeholder instead, so that a lease can be logged
// whole. Reveal is the only way to the secret, and easy to grep for. The trap:
// package fmt calls no methods of unexported fields, so a struct that keeps an
// ID in one must not be printed, or print itself.
type ID [16]byte

// NewID returns a random (version 4) ID.
func NewID() ID {
	var id ID
	rand.Read(id[:]) // never fails: crypto/rand aborts the program instead
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseID reads a UUID in its usual form, 8-4-4-4-12 hexadecimal digits in any
// letter case, with or without braces or parentheses around it, or as 32 bare
// digits. The all-zero UUID is refused, because the zero ID means "none".
func ParseID(s string) (ID, error) {
	var id ID
	digits := trimPair(s)
	if len(digits) == 36 {
		if digits[8] != '-' || digits[13] != '-' || digits[18] != '-' || digits[23] != '-' {
			return ID{}, errNotUUID()
		}
		digits = digits[:8] + digits[9:13] + digits[14:18] + digits[19:23] + digits[24:]
	}
	if len(digits) != 32 {
		return ID{}, errNotUUID()
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, errNotUUID()
	}
	if id.IsZero() {
		return ID{}, Invalid("lease_id", "is the all-zero UUID, which stands for no lease; send a random one or none at all")
	}
	return id, nil
}

// errNotUUID does not repeat the input: a mistyped id is most of a secret.
func errNotUUID() error {
	return Invalid("lease_id", "is not a UUID; want the form 8-4-4-4-12 hexadecimal digits")
}

func trimPair(s string) string {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); ok {
			return inner
		}
	}
	if inner, ok := strings.CutPrefix(s, "("); ok {
		if inner, ok = strings.CutSuffix(inner, ")"); ok {
			return inner
		}
	}
	return s
}

// IsZero reports whether id is the zero ID, which means "none".
func (id ID) IsZero() bool { return id == ID{} }

// Reveal returns the id in its usual lower-case form. Call it only to send the
// secret to its owner or to the store.
func (id ID) Reveal() string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}

// String returns a placeholder, never the id.
func (id ID) String() string {
	if id.IsZero() {
		return "no lease id"
	}
	return "[lease id]"
}

// Format prints the placeholder for every verb and flag.
func (id ID) Format(f fmt.State, _ rune) { io.WriteString(f, id.String()) }

// LogValue keeps the id out of structured logs.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// MarshalText keeps the id out of anything that encodes by reflection.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

package azblob

import (
	"strings"

	"github.com/leasehold/leasehold"
)

// MaxResource is the longest name of a resource, in bytes. A blob's name has at
// most 1024 characters, and a byte takes up to three.
const MaxResource = 300

const (
	maxBlobName = 1024
	// breakSuffix ends the name of the blob that says when a break ends. The
	// encoding has no dot.
	breakSuffix = ".break"
	maxPrefix   = maxBlobName - 3*MaxResource - len(breakSuffix)
)

// The encoding keeps letters and digits and writes every other byte as a sign and
// two hexadecimal digits. The sign stands where the byte does in the order of
// bytes, so that encoded names sort as the names do, and a prefix of a name is
// encoded as a prefix of its encoding.
const hexDigits = "0123456789ABCDEF"

func escapeSign(b byte) byte {
	switch {
	case b < '0':
		return '-'
	case b <= '9':
		return 0
	case b < 'A':
		return '='
	case b <= 'Z':
		return 0
	case b < 'a':
		return '_'
	case b <= 'z':
		return 0
	}
	return '~'
}

func encodeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		sign := escapeSign(name[i])
		if sign == 0 {
			b.WriteByte(name[i])
			continue
		}
		b.WriteByte(sign)
		b.WriteByte(hexDigits[name[i]>>4])
		b.WriteByte(hexDigits[name[i]&15])
	}
	return b.String()
}

// decodeName is the inverse of encodeName. It refuses what encodeName does not
// make, so no two blobs stand for one resource.
func decodeName(encoded string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(encoded); i++ {
		if escapeSign(encoded[i]) == 0 {
			b.WriteByte(encoded[i])
			continue
		}
		if i+2 >= len(encoded) {
			return "", false
		}
		high, low := strings.IndexByte(hexDigits, encoded[i+1]), strings.IndexByte(hexDigits, encoded[i+2])
		if high < 0 || low < 0 || escapeSign(byte(high<<4|low)) != encoded[i] {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), true
}

// checkName refuses a name that is too long for the service.
func checkName(resource string) error {
	if len(resource) > MaxResource {
		return leasehold.Invalid("resource", "has %d bytes; the limit of this store is %d", len(resource), MaxResource)
	}
	return nil
}

package azblob

import (
	"strings"
)

// Names of blob metadata are identifiers, and their letter case is lost in HTTP.
// Values are ASCII and not empty. Here a key keeps lower-case letters and digits
// and writes every other byte as _ and two hexadecimal digits; a value keeps
// printable ASCII but for space and %, and writes every other byte as % and two
// digits. The empty value is a lone %.

// pairPrefix begins the names of the caller's own pairs.
const pairPrefix = "m_"

const lowerHex = "0123456789abcdef"

func encodeKey(key string) string {
	return pairPrefix + escape(key, '_', func(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' })
}

func decodeKey(encoded string) (string, bool) {
	rest, ok := strings.CutPrefix(encoded, pairPrefix)
	if !ok {
		return "", false
	}
	return unescape(rest, '_')
}

func encodeValue(value string) string {
	if value == "" {
		return "%"
	}
	return escape(value, '%', func(b byte) bool { return b > ' ' && b < 0x7f && b != '%' })
}

func decodeValue(encoded string) (string, bool) {
	if encoded == "%" {
		return "", true
	}
	return unescape(encoded, '%')
}

func escape(s string, sign byte, plain func(byte) bool) string {
	var b strings.Builder
	for i := range len(s) {
		if plain(s[i]) {
			b.WriteByte(s[i])
			continue
		}
		b.WriteByte(sign)
		b.WriteByte(lowerHex[s[i]>>4])
		b.WriteByte(lowerHex[s[i]&15])
	}
	return b.String()
}

func unescape(s string, sign byte) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != sign {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, low := strings.IndexByte(lowerHex, s[i+1]), strings.IndexByte(lowerHex, s[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), true
}

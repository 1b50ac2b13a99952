package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"

	"github.com/leasehold/leasehold/server/blob/fault"
)

// signed reports whether signature is the one of text under any of the
// account's keys, in a time that tells nothing about the right one.
//
// Signatures are compared as text: base64 has several spellings of the same
// bytes, and a door that accepts them all would accept changed signatures.
func (a Account) signed(text, signature string) bool {
	matches := 0
	for _, key := range a.Keys {
		if len(key) == 0 {
			continue // everybody has the empty key
		}
		matches |= subtle.ConstantTimeCompare([]byte(mac(key, text)), []byte(signature))
	}
	return matches == 1
}

func mac(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// unauthentic is a refusal with its reason.
func unauthentic(reason string, args ...any) error {
	return fault.New(fault.AuthenticationFailed).With(reason, args...)
}

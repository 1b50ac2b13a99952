package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"hash"
	"sync"

	"github.com/leasehold/leasehold/azure/azerr"
)

// signed reports whether signature is the one of text under any of the
// account's keys, in a time that does not depend on the right one.
//
// Signatures are compared as text: base64 has several spellings of the same
// bytes, and accepting them all would accept changed signatures.
func (a Account) signed(text []byte, signature string) bool {
	matches := 0
	for i, key := range a.Keys {
		if len(key) == 0 {
			continue // everybody has the empty key
		}
		right := a.signers.of(i, key).sign(text)
		matches |= subtle.ConstantTimeCompare(right[:], []byte(signature))
	}
	return matches == 1
}

// signature is what a client sends: an HMAC with SHA-256, in base64.
type signature [(sha256.Size + 2) / 3 * 4]byte

// signer makes signatures with one key, many at a time. It pools prepared hashes:
// preparing the key takes longer than signing a request.
type signer struct{ prepared sync.Pool }

func newSigner(key []byte) *signer {
	s := &signer{}
	s.prepared.New = func() any { return hmac.New(sha256.New, key) }
	return s
}

func (s *signer) sign(text []byte) (made signature) {
	h := s.prepared.Get().(hash.Hash)
	defer s.prepared.Put(h)
	h.Reset()
	h.Write(text)
	var sum [sha256.Size]byte
	base64.StdEncoding.Encode(made[:], h.Sum(sum[:0]))
	return made
}

// signers are those of an account's keys, in their order.
type signers []*signer

// of returns the signer of a key; a new one for an account that NewAccounts has
// not seen.
func (s signers) of(i int, key []byte) *signer {
	if i < len(s) {
		return s[i]
	}
	return newSigner(key)
}

// authFailed refuses a signature, with the reason.
func authFailed(reason string, args ...any) error {
	return azerr.New(azerr.AuthenticationFailed).With(reason, args...)
}

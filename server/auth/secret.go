package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
)

const (
	secretPrefix = "lh_" // lets people and scanners of leaks recognise it
	secretBytes  = 32
	hashPrefix   = "sha256:"
)

var secretLength = len(secretPrefix) + base64.RawURLEncoding.EncodedLen(secretBytes)

// newSecret makes the text that its owner will show.
func newSecret() string {
	var b [secretBytes]byte
	rand.Read(b[:]) // never fails: it aborts the program instead
	return secretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// looksLikeSecret spares hashing what cannot be one of ours.
func looksLikeSecret(s string) bool {
	return len(s) == secretLength && strings.HasPrefix(s, secretPrefix)
}

// hash is what is kept of a secret.
type hash [sha256.Size]byte

func hashOf(secret string) hash { return sha256.Sum256([]byte(secret)) }

// MarshalText writes the hash as the token file has it.
func (h hash) MarshalText() ([]byte, error) {
	return []byte(hashPrefix + hex.EncodeToString(h[:])), nil
}

// UnmarshalText never repeats the text in an error: it may be the secret itself,
// pasted by mistake.
func (h *hash) UnmarshalText(text []byte) error {
	if strings.HasPrefix(string(text), secretPrefix) {
		return errors.New("hash has a secret instead of its hash; revoke that token, the secret has been written down")
	}
	digits, ok := strings.CutPrefix(string(text), hashPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(h)) {
		return errNoHash
	}
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return errNoHash
	}
	if *h == (hash{}) {
		return errNoHash // the zero hash means that there is none
	}
	return nil
}

var errNoHash = errors.New(`hash wants "sha256:" and 64 hexadecimal digits`)

var secretPattern = regexp.MustCompile(secretPrefix + `[A-Za-z0-9_-]+`)

// hideSecrets is for messages about text that people wrote: a secret in the
// wrong place must not travel on into a log.
func hideSecrets(s string) string { return secretPattern.ReplaceAllString(s, secretPrefix+"…") }

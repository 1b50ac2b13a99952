package hook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/leasehold/leasehold"
)

// secretSize is the size of the user's secret in bytes.
const secretSize = 32

// loadSecret returns the secret that the user's hooks on this machine share. It is no
// secret of a session: its id stands in transcripts, and a file for each would have to be
// deleted some day.
//
// Where the file cannot be had, the secret is a new one for this call alone. Then a
// second edit finds the lease held by its own holder, which is fine, but cannot renew it.
func loadSecret(file string) []byte {
	if file == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return newSecret()
		}
		file = filepath.Join(cache, "leasehold", "hook-secret")
	}
	secret, err := readSecret(file)
	if err == nil {
		return secret
	}
	if !errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(file) // others can read it, or it is no secret
	}
	if secret, err = createSecret(file); err == nil {
		return secret
	}
	return newSecret()
}

func newSecret() []byte {
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret)
	return secret
}

func readSecret(file string) ([]byte, error) {
	secret, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return nil, err
	case len(secret) != secretSize || !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no secret", file)
	case filepath.Separator == '/' && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others can read %s", file)
	}
	return secret, nil
}

// createSecret makes the file. If another hook was faster, it returns that one's secret:
// the link fails, and nobody ever reads half a file.
func createSecret(file string) ([]byte, error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(dir, ".hook-secret-*") // readable by the user alone
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(newSecret())
	if err = errors.Join(err, temp.Close()); err != nil {
		return nil, err
	}
	if err = os.Link(temp.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(temp.Name(), file) // a file system without links
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readSecret(file)
}

// generations is how many ids a holder has for one path. The id of a lease that has ended
// cannot be used again for an hour; the next one is tried then.
const generations = 16

// leaseID derives the id of a lease. Without the secret nobody can compute it from what
// transcripts and lists show.
func leaseID(secret []byte, holder string, c leasehold.Claim, generation int) leasehold.ID {
	mac := hmac.New(sha256.New, secret)
	for _, part := range []string{"leasehold hook 1", holder, c.Namespace, c.Pattern, strconv.Itoa(generation)} {
		fmt.Fprintf(mac, "%d:%s,", len(part), part)
	}
	var id leasehold.ID
	copy(id[:], mac.Sum(nil))
	id[6] = id[6]&0x0f | 0x80 // version 8: a form of our own
	id[8] = id[8]&0x3f | 0x80
	return id
}

// digest makes a long or odd name short, and different from others.
func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

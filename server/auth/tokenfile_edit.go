package auth

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/fsutil"
)

// The errors of the token file's functions, for errors.Is.
var (
	// ErrNoToken means that no token has this name.
	ErrNoToken = errors.New("no such token")
	// ErrTokenExists means that the name or the certificate is taken.
	ErrTokenExists = errors.New("there is such a token already")
)

// CreateToken adds a token to the file at path, which it makes if there is
// none, and returns its secret: the only time it is seen, since the file keeps
// its hash. A token with a Cert has no secret.
//
// The token is durable before the secret is returned, and no other call at the
// same time is lost.
func CreateToken(path string, spec TokenSpec) (secret string, err error) {
	now := time.Now()
	r := row{Token: spec.token(now)}
	if err := r.Token.validate(); err != nil {
		return "", err
	}
	if r.Expired(now) {
		return "", leasehold.Invalid("expires", "is in the past")
	}
	if r.Cert == "" {
		secret = newSecret()
		r.Hash = hashOf(secret)
	}
	err = edit(path, true, func(d document) (document, error) {
		for _, other := range d.rows() {
			if other.Name == r.Name {
				return nil, fmt.Errorf("%w: %q", ErrTokenExists, r.Name)
			}
			if r.Cert != "" && other.Cert == r.Cert {
				return nil, fmt.Errorf("%w: %q has this certificate", ErrTokenExists, other.Name)
			}
		}
		return d.add(r)
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// ListTokens returns the tokens of the file at path, expired ones included, in
// the order of the file.
func ListTokens(path string) ([]Token, error) {
	d, err := readDocument(path)
	if err != nil {
		return nil, err
	}
	var tokens []Token
	for _, r := range d.rows() {
		tokens = append(tokens, r.Token)
	}
	return tokens, nil
}

// RevokeToken removes the token of that name. Servers that use the file notice
// within two seconds.
func RevokeToken(path, name string) error {
	return edit(path, false, func(d document) (document, error) {
		rest, ok := d.without(name)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrNoToken, name)
		}
		return rest, nil
	})
}

// edit changes the file in one step that readers see whole or not at all. The
// lock is a file beside it, since the file itself is replaced; it is never
// deleted, because somebody may be about to lock it.
func edit(path string, create bool, change func(document) (document, error)) error {
	path, err := resolveLink(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil && !create {
		return fmt.Errorf("token file: %w", err)
	}
	unlock, err := fsutil.LockFile(path + ".lock")
	if err != nil {
		return fmt.Errorf("lock of the token file: %w", err)
	}
	defer unlock()
	d, err := readDocument(path)
	if err != nil && !(create && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if d, err = change(d); err != nil {
		return err
	}
	if err := replace(path, d.bytes()); err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	return nil
}

// resolveLink returns where a symbolic link leads: the link stays one.
func resolveLink(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", fmt.Errorf("token file: %w", err)
	}
	return real, nil
}

func readDocument(path string) (document, error) {
	// Only the server's options decide whether the group may read the file.
	data, err := readPrivate(path, true)
	if err != nil {
		return nil, err
	}
	d, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	return d, nil
}

// readPrivate reads the token file, unless others may read or write it.
func readPrivate(path string, groupMayRead bool) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: to open a pipe would wait
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("token file %s: not a regular file", path)
	}
	if err := checkMode(info, groupMayRead); err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	return data, nil
}

// replace puts data at path, durably: after a crash there is the old file or
// the new one. Mode and owner stay as they were: after an administrator's edit the
// server's user must still be able to read the file.
func replace(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	err = errors.Join(writeTemp(temp, path, data), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return fsutil.SyncDir(filepath.Dir(path))
}

func writeTemp(temp *os.File, path string, data []byte) error {
	if old, err := os.Stat(path); err == nil {
		if err := copyOwner(temp, old); err != nil {
			return err
		}
	}
	if _, err := temp.Write(data); err != nil {
		return err
	}
	return temp.Sync()
}

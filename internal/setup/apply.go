package setup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrChanged means that a file is not what it was when the plan was made.
var ErrChanged = errors.New("changed in the meantime")

// Apply writes the plan's files. It changes nothing if any of them is not as the plan
// found it.
func (p *Plan) Apply(root string) error {
	for _, c := range p.Changes {
		now, err := readFile(root, c.Path)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, c.Before) || (now == nil) != (c.Before == nil) {
			return fmt.Errorf("%s: %w; nothing was written, run it again", c.Path, ErrChanged)
		}
	}
	for _, c := range p.Changes {
		if err := c.apply(root); err != nil {
			return err
		}
	}
	return nil
}

func (c Change) apply(root string) error {
	path := filepath.Join(root, filepath.FromSlash(c.Path))
	if c.After == nil {
		if err := os.Remove(path); err != nil {
			return err
		}
		if c.Folder {
			_ = os.Remove(filepath.Dir(path)) // fails if others have put something there
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return writeFile(path, c.After, 0o644)
}

// writeFile replaces a file in one step. It keeps the mode, and where the name is a
// symlink, the symlink.
func writeFile(path string, content []byte, mode os.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // gone after the rename
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

package gitguard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold/internal/fsutil"
)

// ErrChanged means that a hook is not as the guard has left it, so that the guard
// cannot know what is right.
var ErrChanged = errors.New("changed by something else")

// ErrNoHooks means that there is no place for a hook.
var ErrNoHooks = errors.New("git runs no hooks here")

// Status is how one hook stands.
type Status string

// The states of a hook.
const (
	Installed Status = "installed"
	Absent    Status = "absent"   // no guard; a hook of others may be there
	Edited    Status = "edited"   // the guard's hook, changed since
	Replaced  Status = "replaced" // another hook stands where the guard's was
	Deleted   Status = "deleted"  // the guard's hook is gone, but not the one that it kept
	Disabled  Status = "disabled" // the guard's hook, which may not be executed
)

// Hook is one hook of a repository.
type Hook struct {
	Name   string
	Path   string
	Status Status
	Kept   string // path of the hook from before, which runs first; empty: none

	content []byte
}

// Hooks returns the hooks of the guard, as they are.
func (g Git) Hooks(ctx context.Context) ([]Hook, error) {
	dir, err := g.HooksDir(ctx)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: core.hooksPath is %s, which is no folder; unset it, or name one", ErrNoHooks, dir)
	}
	// Not while another guard is half-way there. Without the folder there is none.
	if unlock, err := fsutil.LockDir(dir); err == nil {
		defer unlock()
	}
	return readHooks(dir)
}

func readHooks(dir string) (hooks []Hook, err error) {
	hooks = make([]Hook, len(Names))
	for i, name := range Names {
		if hooks[i], err = readHook(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return hooks, nil
}

func readHook(path string) (Hook, error) {
	h := Hook{Name: filepath.Base(path), Path: path, Status: Absent}
	if _, err := os.Lstat(path + KeptSuffix); err == nil {
		h.Kept = path + KeptSuffix
	} else if !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return h, fmt.Errorf("%s is a symlink to nothing; mend or delete it", path)
		}
		if h.Kept != "" {
			h.Status = Deleted
		}
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if h.content, err = os.ReadFile(path); err != nil {
		return h, err
	}
	switch ours, intact := owned(h.content); {
	case ours && !intact:
		h.Status = Edited
	case ours && info.Mode()&0o100 == 0:
		h.Status = Disabled
	case ours:
		h.Status = Installed
	case h.Kept != "":
		h.Status = Replaced
	}
	return h, nil
}

// Change is what Install or Uninstall does to one hook, for people.
type Change struct {
	Path string
	What string
}

// Install puts the guard into pre-commit and pre-push. A hook that is there goes on
// running: it is renamed, with its bytes and its mode, and called first. Installing
// again changes nothing, or brings the options up to date. With dry it only says what
// it would change. Either both hooks are changed or none.
func (g Git) Install(ctx context.Context, o Options, dry bool) ([]Change, error) {
	hooks, err := g.Hooks(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := planInstall(hooks, o)
	if err != nil || dry || len(changes) == 0 {
		return changes, err
	}
	dir := filepath.Dir(hooks[0].Path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// Two at the same time would take each other's hook for the one from before.
	unlock, err := fsutil.LockDir(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if hooks, err = readHooks(dir); err != nil {
		return nil, err
	}
	if changes, err = planInstall(hooks, o); err != nil {
		return nil, err
	}
	for i, h := range hooks {
		if err := h.install(o); err != nil {
			for _, done := range hooks[:i] {
				_ = done.undo()
			}
			return nil, err
		}
	}
	return changes, nil
}

// planInstall says what Install would do.
func planInstall(hooks []Hook, o Options) (changes []Change, err error) {
	for _, h := range hooks {
		change, err := h.planInstall(o)
		if err != nil {
			return nil, err
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

// planInstall says what Install would do; nil: nothing.
func (h Hook) planInstall(o Options) (*Change, error) {
	switch {
	case h.Status == Replaced:
		return nil, fmt.Errorf("%w: %s is not the guard's hook any more, but %s is still there, the hook that was there before. "+
			"Put into %s what shall run, delete the other, and install again", ErrChanged, h.Path, h.Kept, h.Name)
	case h.Status == Edited:
		return nil, fmt.Errorf("%w: %s is the guard's hook, but was edited. Move your lines to %s, delete %s and install again",
			ErrChanged, h.Path, h.Name+KeptSuffix, h.Name)
	case h.Status == Deleted, h.Status == Absent && h.content == nil:
		return &Change{h.Path, "new"}, nil
	case h.Status == Absent:
		return &Change{h.Path, "new; the hook that is there becomes " + h.Name + KeptSuffix + " and runs first"}, nil
	case h.Status == Disabled:
		return &Change{h.Path, "made executable"}, nil
	case string(h.content) != string(h.wanted(o)):
		return &Change{h.Path, "brought up to date"}, nil
	}
	return nil, nil
}

// wanted is the script for the hook.
func (h Hook) wanted(o Options) []byte {
	before := h.content
	if h.Status != Absent {
		before, _ = os.ReadFile(h.Path + KeptSuffix)
	}
	return o.script(h.Name, shellOf(before))
}

// install writes the hook beside its place and renames it, so that git never finds
// half of one.
func (h Hook) install(o Options) error {
	if change, err := h.planInstall(o); change == nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(h.Path), "."+h.Name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // gone after the rename
	_, err = temporary.Write(h.wanted(o))
	if err = errors.Join(err, temporary.Chmod(0o755), temporary.Close()); err != nil {
		return err
	}
	keeps := h.Status == Absent && h.content != nil
	if keeps {
		if err := os.Rename(h.Path, h.Path+KeptSuffix); err != nil {
			return err
		}
	}
	if err := os.Rename(temporary.Name(), h.Path); err != nil {
		if keeps {
			err = errors.Join(err, os.Rename(h.Path+KeptSuffix, h.Path))
		}
		return err
	}
	return nil
}

// undo takes one hook back to how it was when it was read.
func (h Hook) undo() error {
	switch {
	case h.Status == Absent && h.content != nil:
		return os.Rename(h.Path+KeptSuffix, h.Path)
	case h.Status == Absent, h.Status == Deleted:
		return os.Remove(h.Path)
	}
	return os.WriteFile(h.Path, h.content, 0o755)
}

// Uninstall takes the guard away and puts back the hooks from before, which were never
// touched: their bytes and their mode are what they were. It refuses, and changes
// nothing, where a hook is not as the guard has left it.
func (g Git) Uninstall(ctx context.Context, dry bool) ([]Change, error) {
	hooks, err := g.Hooks(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := planUninstall(hooks)
	if err != nil || dry || len(changes) == 0 {
		return changes, err
	}
	dir := filepath.Dir(hooks[0].Path)
	unlock, err := fsutil.LockDir(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if hooks, err = readHooks(dir); err != nil {
		return nil, err
	}
	if changes, err = planUninstall(hooks); err != nil {
		return nil, err
	}
	for _, h := range hooks {
		if h.Status == Absent {
			continue
		}
		if h.Kept != "" {
			err = os.Rename(h.Kept, h.Path)
		} else {
			err = os.Remove(h.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// planUninstall says what Uninstall would do.
func planUninstall(hooks []Hook) (changes []Change, err error) {
	for _, h := range hooks {
		switch {
		case h.Status == Replaced:
			return nil, fmt.Errorf("%w: %s is not the guard's hook any more, and the hook from before is in %s. Decide which shall stay: "+
				"rename or delete the other", ErrChanged, h.Path, h.Kept)
		case h.Status == Edited:
			return nil, fmt.Errorf("%w: %s is the guard's hook, but was edited: save what you need of it, delete it, and rename %s to %s if it is there",
				ErrChanged, h.Path, h.Name+KeptSuffix, h.Name)
		case h.Status == Absent:
		case h.Kept != "":
			changes = append(changes, Change{h.Path, "put back as it was before"})
		default:
			changes = append(changes, Change{h.Path, "removed"})
		}
	}
	return changes, nil
}

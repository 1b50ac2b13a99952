// Package repo says what a file is called for those who share a repository: a
// namespace, which all clones and work trees of a repository have in common, and a
// path in it, which is the same however the file is spelled.
//
// It reads git's files and starts no git, which would be slower than all else that a
// hook does.
package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Repo is a git work tree.
type Repo struct {
	// Root is the work tree's top folder, without symlinks.
	Root string

	// GitDir is the work tree's git directory, and CommonDir that of all work trees of
	// the clone: the same folder, unless git worktree made the work tree.
	GitDir, CommonDir string

	// Identity is the namespace of the repository's paths. See identity.go.
	Identity string

	ignoresCase bool
	hops        int // from the clone that is asked about to this one, of which it is a clone
}

// Find returns the work tree that has the folder dir, or nil if none has it. The folder
// need not exist. A work tree inside another, as a submodule is, has its files to itself.
func Find(dir string) (*Repo, error) {
	resolved, err := resolve("", dir)
	if err != nil {
		return nil, err
	}
	return findAbove(resolved)
}

// findAbove looks for .git in a resolved folder and in those above it.
func findAbove(dir string) (*Repo, error) {
	for {
		gitDir, err := gitDirOf(dir)
		if err != nil {
			return nil, err
		}
		if gitDir != "" {
			return open(dir, gitDir, 0)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, nil
		}
		dir = parent
	}
}

// gitDirOf returns the git directory of the work tree whose top folder is dir, or "".
func gitDirOf(dir string) (string, error) {
	name := filepath.Join(dir, ".git")
	info, err := os.Stat(name)
	switch {
	case missing(err) || errors.Is(err, fs.ErrPermission):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(name, "HEAD")); missing(err) {
			return "", nil // a folder of that name, which git passes over, too
		}
		return name, nil
	}
	target, err := readLine(name)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(target, "gitdir: ")
	if !ok || target == "" {
		return "", fmt.Errorf("%s names no git directory; run git status to see what is wrong", name)
	}
	return resolve(dir, target)
}

func open(root, gitDir string, hops int) (*Repo, error) {
	r := &Repo{Root: root, GitDir: gitDir, CommonDir: gitDir, hops: hops}
	common, err := readLine(filepath.Join(gitDir, "commondir"))
	if err == nil {
		r.CommonDir, err = resolve(gitDir, common)
	}
	if err != nil && !missing(err) {
		return nil, err
	}
	settings, err := r.readConfig()
	if err != nil {
		return nil, err
	}
	r.ignoresCase = settings.boolean("core.ignorecase") || ignoresCase(filepath.Join(root, ".git"))
	r.Identity = r.identity(settings)
	return r, nil
}

// readConfig reads the clone's settings, and those of the work tree if it has any.
func (r *Repo) readConfig() (config, error) {
	settings, err := readConfig(filepath.Join(r.CommonDir, "config"))
	if err != nil || !settings.boolean("extensions.worktreeconfig") {
		return settings, err
	}
	own, err := readConfig(filepath.Join(r.GitDir, "config.worktree"))
	return append(settings, own...), err
}

// Path returns what the file is called in the repository, with slashes: the same for
// every spelling of it, and for its symlinks. A relative name starts at dir. The file
// need not exist. It is "." for the top folder itself. For a file elsewhere, inside is
// false, and the path is the file's absolute one.
func (r *Repo) Path(dir, name string) (path string, inside bool, err error) {
	resolved, err := resolve(dir, name)
	if err != nil {
		return "", false, err
	}
	rest, inside := below(r.Root, resolved)
	if !inside {
		return filepath.ToSlash(resolved), false, nil
	}
	if r.ignoresCase {
		rest = spelled(r.Root, rest)
	}
	if rest == "" {
		rest = "."
	}
	return filepath.ToSlash(rest), true, nil
}

// below returns the path of a resolved file below root. It compares folders, not their
// names, which have several spellings where case is ignored.
func below(root, name string) (rest string, inside bool) {
	if name == root {
		return "", true
	}
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator)); ok {
		return rest, true
	}
	top, err := os.Stat(root)
	if err != nil {
		return "", false
	}
	for dir := name; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, top) {
			return strings.TrimPrefix(strings.TrimPrefix(name, dir), string(filepath.Separator)), true
		}
		if filepath.Dir(dir) == dir {
			return "", false
		}
	}
}

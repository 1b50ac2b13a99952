package gitguard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoRepository means that a folder is in no work tree of git.
var ErrNoRepository = errors.New("not in a git work tree")

// outputDelay is how long the programs that a git started may keep its output open once
// that git has ended. It also counts after a good end, where a busy machine may need a
// while to read the rest.
const outputDelay = 10 * time.Second

// Git runs git in a folder. It inherits the environment: git tells its hooks there
// which index and which repository are meant.
type Git struct {
	Dir string   // empty: the current one
	Env []string // added to the environment
}

// output runs git and returns what it prints.
func (g Git) output(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = g.Dir, in, outputDelay
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"), g.Env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("git is not installed: %w", err)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("git %s was ended: %w", args[0], context.Cause(ctx))
		}
		return nil, &gitError{args[0], strings.TrimSpace(errs.String()), err}
	}
	return out.Bytes(), nil
}

// gitError is a failed git command, with what git said.
type gitError struct {
	command, said string
	cause         error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.cause)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

func (e *gitError) Unwrap() error { return e.cause }

// line runs git and returns its output without the line break.
func (g Git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.output(ctx, nil, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// names runs git and returns its NUL-terminated output as a list.
func (g Git) names(ctx context.Context, in io.Reader, args ...string) ([]string, error) {
	out, err := g.output(ctx, in, args...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// Root returns the top folder of the work tree, or ErrNoRepository.
func (g Git) Root(ctx context.Context) (string, error) {
	root, err := g.line(ctx, "rev-parse", "--show-toplevel")
	var failed *gitError
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("%w: %s", ErrNoRepository, failed.said)
	case err != nil:
		return "", err
	case root == "":
		return "", fmt.Errorf("%w: a bare repository has no files that anybody edits", ErrNoRepository)
	}
	return filepath.FromSlash(root), nil
}

// HooksDir returns the folder from which git runs hooks: that of core.hooksPath, or
// the one that all worktrees share.
func (g Git) HooksDir(ctx context.Context) (string, error) { return g.Path(ctx, "hooks") }

// Path returns where git keeps a file of the repository. Those it does not know are
// apart for each worktree.
func (g Git) Path(ctx context.Context, name string) (string, error) {
	root, err := g.Root(ctx)
	if err != nil {
		return "", err
	}
	g.Dir = root // core.hooksPath may be relative to it
	path, err := g.line(ctx, "rev-parse", "--git-path", name)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	return filepath.Clean(path), nil
}

// HooksPathFrom says which file of configuration sets core.hooksPath: global, local
// and so on. Empty: none does.
func (g Git) HooksPathFrom(ctx context.Context) string {
	out, err := g.line(ctx, "config", "--show-scope", "--get", "core.hooksPath")
	if err != nil {
		return "" // git config fails where a key is not set
	}
	scope, _, _ := strings.Cut(out, "\t")
	return scope
}

// Version returns git's version.
func (g Git) Version(ctx context.Context) (string, error) {
	v, err := g.line(ctx, "version")
	return strings.TrimPrefix(v, "git version "), err
}

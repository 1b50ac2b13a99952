package gitguard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newRepository makes a repository in a folder of its own.
func newRepository(t *testing.T) Git {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("hooks of git are shell scripts here")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, name := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		t.Setenv(name+"_NAME", "tester")
		t.Setenv(name+"_EMAIL", "tester@example.com")
	}
	g := Git{Dir: t.TempDir()}
	git(t, g, "init", "-q", "-b", "main")
	return g
}

func git(t *testing.T, g Git, args ...string) string {
	t.Helper()
	out, err := g.line(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, g Git, name, text string) {
	t.Helper()
	path := filepath.Join(g.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, g Git, name, text string) string {
	t.Helper()
	put(t, g, name, text)
	git(t, g, "add", "-A")
	git(t, g, "commit", "-qm", name)
	return git(t, g, "rev-parse", "HEAD")
}

func wantStaged(t *testing.T, g Git, want ...string) {
	t.Helper()
	got, err := g.Staged(t.Context())
	if slices.Sort(want); err != nil || !slices.Equal(got, want) {
		t.Errorf("Staged = %q, %v, want %q", got, err, want)
	}
}

func TestStaged(t *testing.T) {
	g := newRepository(t)
	wantStaged(t, g)
	put(t, g, "new\nline", "1")
	put(t, g, "dir/file", "a text that is long enough for a rename to be found\n")
	git(t, g, "add", "-A")
	wantStaged(t, g, "dir/file", "new\nline") // there is no HEAD
	git(t, g, "commit", "-qm", "first")
	wantStaged(t, g)

	git(t, g, "config", "diff.renames", "copies")
	git(t, g, "config", "diff.relative", "true")
	git(t, g, "config", "diff.noprefix", "true")
	git(t, g, "mv", "dir/file", "moved")
	wantStaged(t, g, "dir/file", "moved")
	git(t, g, "rm", "-q", "new\nline")
	wantStaged(t, g, "dir/file", "moved", "new\nline")
	put(t, g, "sub/é \"quoted\"\t", "1")
	git(t, g, "add", "-A")
	sub := Git{Dir: filepath.Join(g.Dir, "sub")}
	wantStaged(t, sub, "dir/file", "moved", "new\nline", "sub/é \"quoted\"\t")
	if _, err := (Git{Dir: t.TempDir()}).Staged(t.Context()); err == nil {
		t.Error("Staged outside of a repository = nil, want an error")
	}
}

// The commit of a merge changes only what differs from both sides.
func TestStagedInAMerge(t *testing.T) {
	g := newRepository(t)
	commit(t, g, "both", "base")
	git(t, g, "checkout", "-q", "-b", "side")
	commit(t, g, "theirs", "side")
	commit(t, g, "both", "side")
	git(t, g, "checkout", "-q", "main")
	commit(t, g, "ours", "main")
	commit(t, g, "both", "main")
	_, _ = g.line(t.Context(), "merge", "-q", "side") // stops at the conflict
	put(t, g, "both", "merged")
	put(t, g, "evil", "of the merge alone")
	git(t, g, "add", "-A")
	wantStaged(t, g, "both", "evil")
}

func TestPushed(t *testing.T) {
	g := newRepository(t)
	remote := filepath.Join(t.TempDir(), "remote.git")
	git(t, g, "init", "-q", "--bare", remote)
	git(t, g, "remote", "add", "origin", remote)
	first := commit(t, g, "a", "1")
	git(t, g, "push", "-q", "origin", "main")
	second := commit(t, g, "b\nc", "1")
	git(t, g, "mv", "a", "d")
	git(t, g, "commit", "-qm", "moved")
	third := git(t, g, "rev-parse", "HEAD")
	git(t, g, "tag", "-a", "v1", "-m", "one", second)
	tag := git(t, g, "rev-parse", "v1")
	blob := git(t, g, "rev-parse", "HEAD:d")
	none, gone := strings.Repeat("0", len(first)), strings.Repeat("1", len(first))

	for name, c := range map[string]struct {
		lines, remote string
		want          []string
	}{
		"nothing":                {"", "origin", nil},
		"fast forward":           {"refs/heads/main " + third + " refs/heads/main " + first, "origin", []string{"a", "b\nc", "d"}},
		"one commit":             {"refs/heads/main " + second + " refs/heads/main " + first, "origin", []string{"b\nc"}},
		"new branch":             {"HEAD " + second + " refs/heads/new " + none, "origin", []string{"b\nc"}},
		"new branch, new remote": {"HEAD " + second + " refs/heads/new " + none, "ssh://elsewhere/x", []string{"a", "b\nc"}},
		"tag":                    {"refs/tags/v1 " + tag + " refs/tags/v1 " + none, "origin", []string{"b\nc"}},
		"tag of no commit":       {"refs/tags/x " + blob + " refs/tags/x " + none, "origin", nil},
		"deletion":               {"(delete) " + none + " refs/heads/main " + first, "origin", nil},
		"unknown remote commit":  {"refs/heads/main " + second + " refs/heads/main " + gone, "origin", []string{"b\nc"}},
		"nothing new":            {"refs/heads/main " + first + " refs/heads/main " + first, "origin", nil},
		"two refs": {"refs/heads/x " + second + " refs/heads/x " + none + "\nrefs/heads/y " + third + " refs/heads/y " + none + "\n",
			"origin", []string{"a", "b\nc", "d"}},
	} {
		got, err := g.Pushed(t.Context(), c.remote, strings.NewReader(c.lines))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: Pushed = %q, %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := g.Pushed(t.Context(), "origin", strings.NewReader("what is this\n")); err == nil {
		t.Error("Pushed of other words = nil, want an error")
	}
	if _, err := g.Pushed(t.Context(), "origin", strings.NewReader("x "+third+" x "+strings.Repeat("z", 2<<20))); err == nil {
		t.Error("Pushed of an endless line = nil, want an error")
	}
}

// A pushed merge brings only what differs from all of its parents.
func TestPushedMerge(t *testing.T) {
	g := newRepository(t)
	first := commit(t, g, "base", "1")
	git(t, g, "checkout", "-q", "-b", "side")
	side := commit(t, g, "theirs", "1")
	git(t, g, "checkout", "-q", "main")
	ours := commit(t, g, "ours", "1")
	git(t, g, "merge", "-q", "-m", "merge", "side")
	git(t, g, "update-ref", "refs/remotes/origin/side", side)
	git(t, g, "update-ref", "refs/remotes/origin/main", ours)
	head := git(t, g, "rev-parse", "HEAD")
	got, err := g.Pushed(t.Context(), "origin", strings.NewReader("refs/heads/main "+head+" refs/heads/main "+first+"\n"))
	if err != nil || len(got) > 0 {
		t.Errorf("Pushed = %q, %v, want nothing: both sides are known", got, err)
	}
}

func TestRoot(t *testing.T) {
	g := newRepository(t)
	put(t, g, "sub/x", "")
	root, err := Git{Dir: filepath.Join(g.Dir, "sub")}.Root(t.Context())
	if want, _ := filepath.EvalSymlinks(g.Dir); err != nil || root != want {
		t.Errorf("Root = %q, %v, want %q", root, err, want)
	}
	bare := Git{Dir: t.TempDir()}
	git(t, bare, "init", "-q", "--bare")
	for _, dir := range []string{t.TempDir(), bare.Dir} {
		if _, err := (Git{Dir: dir}).Hooks(t.Context()); !errors.Is(err, ErrNoRepository) {
			t.Errorf("Hooks = %v, want ErrNoRepository", err)
		}
	}
	if v, err := g.Version(t.Context()); err != nil || !strings.Contains(v, ".") {
		t.Errorf("Version = %q, %v", v, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := g.Root(t.Context()); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("Root without git = %v, want that git is not installed", err)
	}
}

func TestHooksPathFrom(t *testing.T) {
	g := newRepository(t)
	if got := g.HooksPathFrom(t.Context()); got != "" {
		t.Errorf("HooksPathFrom = %q, want nothing", got)
	}
	git(t, g, "config", "core.hooksPath", ".hooks")
	if got := g.HooksPathFrom(t.Context()); got != "local" {
		t.Errorf("HooksPathFrom = %q, want local", got)
	}
	if got, err := g.HooksDir(t.Context()); err != nil || filepath.Base(got) != ".hooks" || !filepath.IsAbs(got) {
		t.Errorf("HooksDir = %q, %v, want .hooks", got, err)
	}
}

func TestCommitPath(t *testing.T) {
	g := newRepository(t)
	for _, parent := range []string{"", commit(t, g, "a", "1")} {
		own := g
		own.Env = []string{"GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")}
		if parent == "" {
			own.Dir = newRepository(t).Dir
		}
		p, c, err := own.CommitPath(t.Context(), "x/y")
		if err != nil || p != parent {
			t.Fatalf("CommitPath = %q, %q, %v, want the parent %q", p, c, err, parent)
		}
		wantStaged(t, own, "x/y")
		if got := git(t, own, "show", "--name-only", "--format=%s", c); got != "leasehold doctor\n\nx/y" {
			t.Errorf("the commit is %q", got)
		}
	}
	if _, _, err := (Git{Dir: t.TempDir()}).CommitPath(t.Context(), "x"); err == nil {
		t.Error("CommitPath outside of a repository = nil, want an error")
	}
	if _, _, err := g.CommitPath(t.Context(), "../x"); err == nil {
		t.Error("CommitPath of ../x = nil, want an error")
	}
}

// Any hook comes back with its bytes and its mode.
func TestInstallAndUninstall(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string // in the script
	}{
		"none":          {"", 0, `"$kept" "$@" || exit`},
		"shell":         {"#!/bin/sh\nexit 0\n", 0o755, `/bin/sh -c '. "$LEASEHOLD_KEPT"' "$0" "$@"`},
		"flags":         {"#!/usr/bin/env bash\r\n", 0o700, `/usr/bin/env bash -c`},
		"other program": {"#!/usr/bin/perl -w\n\x00\xff", 0o555, `"$kept" "$@" || exit`},
		"empty":         {"", 0o644, `"$kept" "$@" || exit`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRepository(t)
			path := filepath.Join(g.Dir, ".git/hooks/pre-commit")
			if c.mode != 0 {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(c.text), c.mode), os.Chmod(path, c.mode)); err != nil {
					t.Fatal(err)
				}
			}
			if changes, err := g.Install(t.Context(), Options{}, true); err != nil || len(changes) != 2 {
				t.Fatalf("Install, dry = %v, %v, want two changes", changes, err)
			}
			if hooks, err := g.Hooks(t.Context()); err != nil || hooks[0].Status != Absent {
				t.Fatalf("after a dry run: %+v, %v, want no guard", hooks, err)
			}
			for range 2 {
				if _, err := g.Install(t.Context(), Options{Program: "/opt/it's", Store: "http://h:1"}, false); err != nil {
					t.Fatal(err)
				}
			}
			script, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(script), c.want) || !strings.Contains(string(script), `'/opt/it'\''s'`) {
				t.Errorf("the script is %s, %v, want %s", script, err, c.want)
			}
			if changes, err := g.Uninstall(t.Context(), false); err != nil || len(changes) != 2 {
				t.Fatalf("Uninstall = %v, %v, want two changes", changes, err)
			}
			if c.mode == 0 {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("after Uninstall: %v, want no file", err)
				}
				return
			}
			text, _ := os.ReadFile(path)
			info, err := os.Stat(path)
			if err != nil || string(text) != c.text || info.Mode().Perm() != c.mode {
				t.Errorf("after Uninstall: %q, %v, %v, want %q, %v", text, info, err, c.text, c.mode)
			}
		})
	}
}

// What is not as the guard left it is refused, and nothing is changed.
func TestInstallRefuses(t *testing.T) {
	g := newRepository(t)
	if _, err := g.Install(t.Context(), Options{}, false); err != nil {
		t.Fatal(err)
	}
	push, commit := filepath.Join(g.Dir, ".git/hooks/pre-push"), filepath.Join(g.Dir, ".git/hooks/pre-commit")
	intact, _ := os.ReadFile(push)
	for name, text := range map[string]string{"edited": string(intact) + "echo\n", "replaced": "#!/bin/sh\n"} {
		if err := errors.Join(os.WriteFile(push, []byte(text), 0o755), os.WriteFile(push+KeptSuffix, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		_, install := g.Install(t.Context(), Options{FailClosed: true}, false)
		_, uninstall := g.Uninstall(t.Context(), false)
		now, _ := os.ReadFile(commit)
		if !errors.Is(install, ErrChanged) || !errors.Is(uninstall, ErrChanged) || strings.Contains(string(now), "fail-closed") {
			t.Errorf("%s: Install = %v, Uninstall = %v, want ErrChanged", name, install, uninstall)
		}
	}
	// The hook from before is all that is left.
	if err := os.Remove(push); err != nil {
		t.Fatal(err)
	}
	if hooks, err := g.Hooks(t.Context()); err != nil || hooks[1].Status != Deleted {
		t.Errorf("Hooks = %+v, %v, want pre-push deleted", hooks, err)
	}
	if _, err := g.Uninstall(t.Context(), false); err != nil {
		t.Errorf("Uninstall of a deleted hook = %v, want nil", err)
	}
	if err := errors.Join(os.Remove(push), os.Mkdir(push, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Install(t.Context(), Options{}, false); err == nil {
		t.Error("Install over a folder = nil, want an error")
	}
}

// Both hooks are changed or none.
func TestInstallIsUndone(t *testing.T) {
	g := newRepository(t)
	put(t, g, ".git/hooks/pre-commit", "#!/bin/sh\n# mine\n")
	hooks, err := g.Hooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hooks {
		if err := errors.Join(h.install(Options{}), h.undo()); err != nil {
			t.Fatal(err)
		}
	}
	after, err := g.Hooks(t.Context())
	if diff := cmp.Diff(hooks, after, cmp.AllowUnexported(Hook{})); err != nil || diff != "" {
		t.Errorf("after install and undo: %v %s", err, diff)
	}
	if _, err := g.Install(t.Context(), Options{}, false); err != nil {
		t.Fatal(err)
	}
	hooks, _ = g.Hooks(t.Context())
	if err := errors.Join(hooks[0].install(Options{FailClosed: true}), hooks[0].undo()); err != nil {
		t.Fatal(err)
	}
	if after, _ := g.Hooks(t.Context()); string(after[0].content) != string(hooks[0].content) {
		t.Errorf("after an update and undo: %s", after[0].content)
	}
}

func TestUnwritableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	g := newRepository(t)
	dir := filepath.Join(g.Dir, ".git/hooks")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Install(t.Context(), Options{}, false); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Install = %v, want that it is not permitted", err)
	}
}

func TestHooksOfOtherKinds(t *testing.T) {
	g := newRepository(t)
	if _, err := g.Install(t.Context(), Options{}, false); err != nil {
		t.Fatal(err)
	}
	commit, push := filepath.Join(g.Dir, ".git/hooks/pre-commit"), filepath.Join(g.Dir, ".git/hooks/pre-push")
	if err := os.Chmod(commit, 0o644); err != nil {
		t.Fatal(err)
	}
	if hooks, err := g.Hooks(t.Context()); err != nil || hooks[0].Status != Disabled || hooks[1].Status != Installed {
		t.Errorf("Hooks = %+v, %v, want pre-commit disabled", hooks, err)
	}
	if changes, err := g.Install(t.Context(), Options{}, false); err != nil || len(changes) != 1 {
		t.Errorf("Install = %v, %v, want one change", changes, err)
	}
	if hooks, err := g.Hooks(t.Context()); err != nil || hooks[0].Status != Installed {
		t.Errorf("Hooks = %+v, %v, want pre-commit installed", hooks, err)
	}
	if changes, err := g.Uninstall(t.Context(), true); err != nil || len(changes) != 2 {
		t.Errorf("Uninstall, dry = %v, %v, want two changes", changes, err)
	}
	if err := errors.Join(os.Remove(push), os.Symlink("nowhere", push)); err != nil {
		t.Fatal(err)
	}
	_, install := g.Install(t.Context(), Options{}, false)
	_, uninstall := g.Uninstall(t.Context(), false)
	if install == nil || uninstall == nil || !strings.Contains(install.Error(), "is a symlink to nothing") {
		t.Errorf("a symlink to nothing: Install = %v, Uninstall = %v, want errors", install, uninstall)
	}
}

func TestGitErrors(t *testing.T) {
	g := newRepository(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"frobnicate"}, "git frobnicate: git: 'frobnicate' is not a git command"},
		{[]string{"rev-parse", "-q", "--verify", "HEAD"}, "git rev-parse: exit status 1"},
	} {
		_, err := g.line(t.Context(), c.args...)
		exit := (*exec.ExitError)(nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.As(err, &exit) {
			t.Errorf("git %q = %v, want %q", c.args, err, c.want)
		}
	}
}

// Two guards at the same time do not take each other for the hook from before.
func TestInstallTogether(t *testing.T) {
	const mine = "#!/bin/sh\necho mine\n"
	for range 10 {
		g := newRepository(t)
		put(t, g, ".git/hooks/pre-commit", mine)
		together := func(what string, f func() ([]Change, error)) {
			t.Helper()
			var running sync.WaitGroup
			for range 4 {
				running.Go(func() {
					if _, err := f(); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				})
			}
			running.Wait()
		}
		together("Install", func() ([]Change, error) { return g.Install(t.Context(), Options{}, false) })
		kept, err := os.ReadFile(filepath.Join(g.Dir, ".git/hooks/pre-commit"+KeptSuffix))
		if err != nil || string(kept) != mine {
			t.Fatalf("the hook from before is %q, %v, want %q", kept, err, mine)
		}
		together("Uninstall", func() ([]Change, error) { return g.Uninstall(t.Context(), false) })
		back, err := os.ReadFile(filepath.Join(g.Dir, ".git/hooks/pre-commit"))
		if err != nil || string(back) != mine {
			t.Fatalf("after Uninstall the hook is %q, %v, want %q", back, err, mine)
		}
	}
}

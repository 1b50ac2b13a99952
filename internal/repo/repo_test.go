package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// git runs git in a folder, without the user's settings.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}

// folder is a temporary folder without symlinks in its name.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shop is a repository with src/pay.go, a commit and an origin.
func shop(t *testing.T) string {
	t.Helper()
	root := filepath.Join(folder(t), "shop")
	if err := os.Mkdir(root, 0o777); err != nil {
		t.Fatal(err)
	}
	git(t, root, "init", "-q")
	git(t, root, "remote", "add", "origin", "https://anna:secret@git.example.com:8443/Team/Shop.git")
	write(t, filepath.Join(root, "src", "pay.go"))
	git(t, root, "add", ".")
	git(t, root, "commit", "-qm", "first")
	return root
}

func locate(t *testing.T, dir, name string) []Name {
	t.Helper()
	names, err := Locate(dir, name)
	if err != nil {
		t.Fatalf("Locate(%q, %q): %v", dir, name, err)
	}
	return names
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestSpellingsOfOneFile(t *testing.T) {
	root := shop(t)
	elsewhere := folder(t)
	src := filepath.Join(root, "src")
	symlink(t, "pay.go", filepath.Join(src, "link.go"))
	symlink(t, root, filepath.Join(elsewhere, "shop"))
	symlink(t, "../elsewhere.go", filepath.Join(src, "dangling.go"))
	tree := filepath.Join(elsewhere, "tree")
	git(t, root, "worktree", "add", "-q", tree)

	const identity = "git.example.com/team/shop"
	for _, tt := range []struct{ dir, name, want string }{
		{root, "src/pay.go", "src/pay.go"},
		{root, "./src//pay.go", "src/pay.go"},
		{src, "pay.go", "src/pay.go"},
		{src, "../src/pay.go", "src/pay.go"},
		{src, filepath.Join(src, "pay.go"), "src/pay.go"},
		{root, "src/new/../pay.go", "src/pay.go"}, // src/new does not exist
		{root, "src/link.go", "src/pay.go"},
		{elsewhere, "shop/src/link.go", "src/pay.go"},
		{filepath.Join(elsewhere, "shop", "src"), "pay.go", "src/pay.go"},
		{tree, "src/pay.go", "src/pay.go"},
		{root, filepath.Join(tree, "src", "pay.go"), "src/pay.go"},
		{root, "src/dangling.go", "elsewhere.go"},
		{root, "a/b/new.go", "a/b/new.go"},
		{root, "src/pay.go/below", "src/pay.go/below"},
		{root, ".git/config", ".git/config"},
	} {
		want := []Name{{identity, tt.want}}
		if diff := cmp.Diff(want, locate(t, tt.dir, tt.name)); diff != "" {
			t.Errorf("Locate(%q, %q) differs (-want +got):\n%s", tt.dir, tt.name, diff)
		}
	}
}

// A program may resolve .. before it opens the file, or let the system do it.
func TestDotDotBehindSymlink(t *testing.T) {
	root := shop(t)
	write(t, filepath.Join(root, "a", "b", "c.go"))
	symlink(t, "a/b", filepath.Join(root, "link"))
	want := []Name{{"git.example.com/team/shop", "a/x.go"}, {"git.example.com/team/shop", "x.go"}}
	if diff := cmp.Diff(want, locate(t, root, "link/../x.go")); diff != "" {
		t.Errorf("Locate() differs (-want +got):\n%s", diff)
	}
}

func TestCaseIsIgnored(t *testing.T) {
	root := shop(t)
	write(t, filepath.Join(root, "Docs", "ReadMe.md"))
	git(t, root, "config", "core.ignoreCase", "true")
	const identity = "git.example.com/team/shop"
	for _, tt := range []struct {
		name string
		want []Name
	}{
		{"Docs/ReadMe.md", []Name{{identity, "Docs/ReadMe.md"}}},
		{"docs/README.md", []Name{{identity, "Docs/ReadMe.md"}}},
		{"SRC/new.go", []Name{{identity, "src/new.go"}}},
		{"SRC/New.go", []Name{{identity, "src/New.go"}, {identity, "src/new.go"}}},
		{"src/NEW.go", []Name{{identity, "src/NEW.go"}, {identity, "src/new.go"}}},
	} {
		if diff := cmp.Diff(tt.want, locate(t, root, tt.name)); diff != "" {
			t.Errorf("Locate(%q) differs (-want +got):\n%s", tt.name, diff)
		}
	}
	git(t, root, "config", "core.ignoreCase", "false")
	if got, want := locate(t, root, "docs/README.md"), []Name{{identity, "docs/README.md"}}; !ignoresCase(root) && !cmp.Equal(got, want) {
		t.Errorf("Locate(docs/README.md) = %v where case counts, want %v", got, want)
	}
}

func TestOutsideOfGit(t *testing.T) {
	dir := folder(t)
	if r, err := Find(dir); r != nil || err != nil {
		t.Fatalf("Find(%q) = %v, %v, want nil, nil", dir, r, err)
	}
	want := []Name{{HostNamespace(), strings.TrimPrefix(filepath.ToSlash(dir), "/") + "/x/y.txt"}}
	if diff := cmp.Diff(want, locate(t, dir, "x/y.txt")); diff != "" {
		t.Errorf("Locate() differs (-want +got):\n%s", diff)
	}
	root := shop(t)
	r, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(dir, "x")
	if path, inside, err := r.Path(root, outside); inside || err != nil || path != filepath.ToSlash(outside) {
		t.Errorf("Path(%q) = %q, %v, %v, want it outside", outside, path, inside, err)
	}
	if path, inside, err := r.Path(root, filepath.Join(root+"x", "y")); inside || err != nil {
		t.Errorf("Path() of a folder beside = %q, %v, %v, want it outside", path, inside, err)
	}
}

func TestPath(t *testing.T) {
	root := shop(t)
	symlink(t, root, filepath.Join(filepath.Dir(root), "link"))
	r, err := Find(filepath.Join(root, "src", "missing"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Root != root || r.GitDir != filepath.Join(root, ".git") || r.CommonDir != r.GitDir {
		t.Errorf("Find() = %+v, want the root %q", r, root)
	}
	for name, want := range map[string]string{
		"src/pay.go": "src/pay.go", ".": ".", "": ".", "../shop/src": "src", "../link/src/pay.go": "src/pay.go", "*/a b": "*/a b",
	} {
		if got, inside, err := r.Path(root, name); got != want || !inside || err != nil {
			t.Errorf("Path(%q) = %q, %v, %v, want %q", name, got, inside, err, want)
		}
	}
	t.Chdir(filepath.Join(root, "src"))
	if got, inside, err := r.Path("", "pay.go"); got != "src/pay.go" || !inside || err != nil {
		t.Errorf("Path(pay.go) in src = %q, %v, %v, want src/pay.go", got, inside, err)
	}
}

func TestWorkTrees(t *testing.T) {
	root := shop(t)
	tree := filepath.Join(folder(t), "tree")
	git(t, root, "worktree", "add", "-q", tree)
	git(t, root, "config", "extensions.worktreeConfig", "true")
	first, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Find(tree)
	if err != nil {
		t.Fatal(err)
	}
	if second.Root != tree || second.CommonDir != first.CommonDir || second.Identity != first.Identity {
		t.Errorf("Find() of a linked work tree = %+v, want root %q and the rest as of %+v", second, tree, first)
	}
	git(t, tree, "config", "--worktree", "leasehold.repository", "own")
	if second, err = Find(tree); err != nil || second.Identity != "own" {
		t.Errorf("Find() = %+v, %v, want the identity of the work tree's own setting", second, err)
	}
}

// A submodule's files belong to the submodule, wherever they are edited from.
func TestSubmodule(t *testing.T) {
	root, part := shop(t), shop(t)
	git(t, part, "config", "leasehold.repository", "part")
	git(t, root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", part, "part")
	want := []Name{{"part", "src/pay.go"}} // as in the repository that it is a clone of
	if diff := cmp.Diff(want, locate(t, root, "part/src/pay.go")); diff != "" {
		t.Errorf("Locate() differs (-want +got):\n%s", diff)
	}
}

func TestBrokenRepositories(t *testing.T) {
	root := folder(t)
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	if r, err := Find(root); r != nil || err != nil {
		t.Errorf("Find() where .git has no HEAD = %v, %v, want nil, nil", r, err)
	}
	other := folder(t)
	write(t, filepath.Join(other, ".git"))
	if r, err := Find(other); err == nil || !strings.Contains(err.Error(), "names no git directory") {
		t.Errorf("Find() with a broken .git file = %v, %v, want an error", r, err)
	}
	if _, err := Locate(other, "x.go"); err == nil {
		t.Error("Locate() with a broken .git file has no error")
	}
	symlink(t, "loop", filepath.Join(root, "loop"))
	if _, err := Locate(root, "loop"); err == nil || !strings.Contains(err.Error(), "too many symlinks") {
		t.Errorf("Locate(loop) = %v, want an error", err)
	}
	if _, err := Locate(root, "a\x00b"); err == nil {
		t.Error("Locate() of a name with a zero byte has no error")
	}
	if _, err := Find("a\x00b"); err == nil {
		t.Error("Find() of a name with a zero byte has no error")
	}
	if err := os.WriteFile(filepath.Join(root, ".git", "HEAD"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".git", "config"), make([]byte, maxFile+1), 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err := Find(root); err == nil {
		t.Errorf("Find() with a huge config = %v, want an error", r)
	}
}

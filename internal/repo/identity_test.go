package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
)

func TestIdentityOfRemotes(t *testing.T) {
	r := &Repo{Root: folder(t)}
	local := HostNamespace() + filepath.ToSlash(r.Root)
	for remote, want := range map[string]string{
		"https://github.com/team/shop.git":                      "github.com/team/shop",
		"https://github.com/Team/Shop":                          "github.com/team/shop",
		"https://anna:secret@GitHub.com/team/shop.git/":         "github.com/team/shop",
		"https://secret@github.com//team/shop.git?token=s#x":    "github.com/team/shop",
		"http://a@b:secret@github.com:80/team/shop":             "github.com/team/shop",
		"ssh://git@github.com:22/team/shop.git":                 "github.com/team/shop",
		"git@github.com:team/shop.git":                          "github.com/team/shop",
		"github.com:/team/shop":                                 "github.com/team/shop",
		"github.com.:team/shop":                                 "github.com/team/shop",
		"[git@github.com:2222]:team/shop":                       "github.com/team/shop",
		"git@[2001:db8::1]:team/shop":                           "2001:db8::1/team/shop",
		"ssh://git@[2001:db8::1]:22/team/shop":                  "2001:db8::1/team/shop",
		"https://github.com/team/a%20b.git":                     "github.com/team/a b",
		"git+ssh://github.com/team/shop":                        "github.com/team/shop",
		"ext::sh -c secret":                                     "remote/" + digest("ext::sh -c secret"),
		"codecommit::eu-central-1://secret@shop":                "remote/" + digest("codecommit::eu-central-1://secret@shop"),
		"https://secret@github.com":                             "",
		"https://github.com/?token=secret":                      "",
		".":                                                     local,
		"file://" + r.Root + "/bare.git":                        local + "/bare.git",
		r.Root + "/a/../bare.git":                               local + "/bare.git",
		"./a:b":                                                 local + "/a:b",
		"https://dev.azure.com/org/project/_git/Shop":           "dev.azure.com/org/project/_git/shop",
		"https://github.com/" + strings.Repeat("../", 3) + "up": "github.com/../../../up",
	} {
		if got := r.remoteName(remote); got != want {
			t.Errorf("remoteName(%q) = %q, want %q", remote, got, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	root := shop(t)
	identity := func() string {
		t.Helper()
		r, err := Find(root)
		if err != nil {
			t.Fatal(err)
		}
		return r.Identity
	}
	if got, want := identity(), "git.example.com/team/shop"; got != want {
		t.Errorf("Identity = %q, want %q", got, want)
	}
	git(t, root, "remote", "remove", "origin")
	if got, want := identity(), HostNamespace()+filepath.ToSlash(root)+"/.git"; got != want {
		t.Errorf("Identity without a remote = %q, want %q", got, want)
	}
	git(t, root, "config", "leasehold.repository", "our shop")
	if got, want := identity(), "our shop"; got != want {
		t.Errorf("Identity with a setting = %q, want %q", got, want)
	}
	if err := os.Remove(filepath.Join(root, ".git", "config")); err != nil {
		t.Fatal(err)
	}
	if got, want := identity(), HostNamespace()+filepath.ToSlash(root)+"/.git"; got != want {
		t.Errorf("Identity without a config = %q, want %q", got, want)
	}
}

// All clones of a repository of this host have its name: of a work tree, of a bare
// repository, and of a clone of either.
func TestIdentityOfLocalClones(t *testing.T) {
	dir := folder(t)
	identity := func(name string) string {
		t.Helper()
		r, err := Find(filepath.Join(dir, name))
		if err != nil || r == nil {
			t.Fatalf("Find(%s) = %v, %v", name, r, err)
		}
		return r.Identity
	}
	git(t, dir, "init", "-q", "first")
	git(t, dir, "init", "-q", "--bare", "bare.git")
	for _, clone := range [][]string{
		{"first", "second"}, {"first/.git", "third"}, {"file://" + dir + "/first/", "fourth"}, {"second", "fifth"}, {"bare.git", "sixth"}, {"bare", "seventh"},
	} {
		git(t, dir, append([]string{"clone", "-q"}, clone...)...)
	}
	git(t, filepath.Join(dir, "first"), "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "first")
	git(t, filepath.Join(dir, "first"), "worktree", "add", "-q", filepath.Join(dir, "tree"))
	git(t, dir, "clone", "-q", "tree", "eighth")
	for _, name := range []string{"second", "third", "fourth", "fifth", "tree", "eighth"} {
		if got, want := identity(name), identity("first"); got != want {
			t.Errorf("Identity of %s = %q, want %q, that of the repository that it is a clone of", name, got, want)
		}
	}
	want := HostNamespace() + filepath.ToSlash(dir) + "/bare.git"
	if six, seven := identity("sixth"), identity("seventh"); six != want || seven != want {
		t.Errorf("Identity of clones of a bare repository = %q and %q, want %q", six, seven, want)
	}
	git(t, filepath.Join(dir, "first"), "remote", "add", "origin", "https://git.example.com/team/shop")
	if got, want := identity("fifth"), "git.example.com/team/shop"; got != want {
		t.Errorf("Identity of a clone of a clone = %q, want %q", got, want)
	}
	git(t, filepath.Join(dir, "first"), "remote", "set-url", "origin", filepath.Join(dir, "fifth"))
	for _, name := range []string{"first", "second", "fifth"} { // in a circle: any name will do, but there is one
		if got := identity(name); !strings.HasPrefix(got, HostNamespace()) {
			t.Errorf("Identity of %s = %q, want a folder of this host", name, got)
		}
	}
}

func TestNamespaces(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{
		"shop", "shop:", "shop::", "a b", "a\nb", "a\tb", "\xff", ":", strings.Repeat("x", 256), strings.Repeat("x", 257),
		strings.Repeat("x", 258), strings.Repeat("ü", 300), "über/straße",
	} {
		got := namespace(name)
		if other, twice := seen[got]; twice {
			t.Errorf("namespace(%q) = namespace(%q)", name, other)
		}
		seen[got] = name
		if err := leasehold.CheckClaims(leasehold.Paths(got, "a/b")); err != nil {
			t.Errorf("namespace(%q) = %q: %v", name, got, err)
		}
		if leasehold.Separator(got) != "/" {
			t.Errorf("namespace(%q) = %q, whose paths have no slashes", name, got)
		}
	}
}

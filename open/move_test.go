package open

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
)

func TestShown(t *testing.T) {
	absolute, err := filepath.Abs("leases.db")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ url, want string }{
		{"sqlite:leases.db", SQLiteURL(absolute)},
		{"sqlite:leases.db?durability=normal", SQLiteURL(absolute) + "?durability=normal"},
		{"sqlite:///a%20b%3F.db", "sqlite:/a b%3F.db"},
		{"redis://user:hunter2@one,two:1/3?prefix=x", "redis://user@one,two:1/3?prefix=x"},
		{"redis://:hunter2@one", "redis://one"},
		{"redis://one?password-file=hunter2", "redis://one"},
		{"redis://u:p/hunter2@one/2", "redis:"}, // a stray slash
		{"nonsense:hunter2", ""},
		{"hunter2", ""},
	} {
		if got := Shown(test.url); got != test.want || strings.Contains(got, "hunter2") {
			t.Errorf("Shown(%q) = %q, want %q", test.url, got, test.want)
		}
	}
}

func FuzzShown(f *testing.F) {
	f.Add("redis://user:SECRET@host/1?prefix=a")
	f.Add("sqlite:leases.db?mode=shared")
	f.Fuzz(func(t *testing.T, url string) {
		before, rest, ok := strings.Cut(url, "://")
		user, after, ok2 := strings.Cut(rest, ":")
		if !ok || !ok2 || strings.ContainsAny(user, "/?@") || !strings.Contains(after, "@") || strings.Contains(before+user, "zz9") {
			return
		}
		_, host, _ := strings.Cut(after, "@")
		if strings.Contains(host, "zz9") {
			return
		}
		if shown := Shown(before + "://" + user + ":zz9zz9" + after); strings.Contains(shown, "zz9zz9") {
			t.Errorf("Shown = %q, with the password", shown)
		}
	})
}

// What cannot be moved says why, and is not even opened.
func TestMoveRefusesKinds(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"http://127.0.0.1:1", "name the store behind it"},
		{"memory:", "gone when its process ends"},
		{"redis://127.0.0.1:1", "cannot be closed in one step"},
		{"azblob://account/container", "Azure's own"},
		{"cosmos://account/database", "cannot be closed in one step"},
		{"surreal://127.0.0.1:1/a/b", "cannot be closed in one step"},
	} {
		_, err := Move(t.Context(), test.url, nil)
		if code(err) != leasehold.ReasonUnsupported || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Move(%q) = %v, want unsupported: %q", test.url, err, test.want)
		}
	}
	if _, err := Move(t.Context(), "memori:", nil); code(err) != leasehold.ReasonInvalid {
		t.Errorf("Move of a wrong URL = %v, want invalid", err)
	}
}

func code(err error) leasehold.Reason {
	if e, ok := err.(*leasehold.Error); ok {
		return e.Reason
	}
	return ""
}

// Every kind of store is known to be movable or not.
func TestMoveKnowsKinds(t *testing.T) {
	for scheme, d := range drivers {
		movable := scheme == "sqlite" || strings.HasPrefix(scheme, "postgres") || strings.HasPrefix(scheme, "etcd")
		if (immovable[d.kind] == "") != movable {
			t.Errorf("%s: immovable %q, want movable: %v", scheme, immovable[d.kind], movable)
		}
	}
}

func TestMoveOpensFiles(t *testing.T) {
	url := SQLiteURL(filepath.Join(t.TempDir(), "leases.db"))
	if _, err := Move(t.Context(), url, &Options{MustExist: true}); err == nil {
		t.Error("Move made a file that must exist")
	}
	s, err := Move(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if why, err := s.InUse(t.Context()); why != "" || err != nil {
		t.Errorf("InUse = %q, %v, want an empty store", why, err)
	}
	if _, err := Store(t.Context(), url, nil); err == nil {
		t.Error("the engine opened a file that is being moved")
	}
}

package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leasehold/leasehold"
)

func TestCreateListRevoke(t *testing.T) {
	path := tokenPath(t)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	ci := mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleHolder}, Holders: []string{"ci:*"}, Resources: []string{}, Expires: &expires})
	if !regexp.MustCompile(`^lh_[A-Za-z0-9_-]{43}$`).MatchString(ci) {
		t.Errorf("CreateToken() = a secret of another form")
	}
	if got := mustCreate(t, path, TokenSpec{Name: "w", Roles: []Role{RoleReader, RoleOperator}, Cert: "w.example"}); got != "" {
		t.Errorf("CreateToken() for a certificate = %q, want no secret", got)
	}
	got, err := ListTokens(path)
	if err != nil {
		t.Fatalf("ListTokens() = %v", err)
	}
	want := []Token{
		{Name: "ci", Roles: []Role{RoleHolder}, Holders: []string{"ci:*"}, Expires: &expires},
		{Name: "w", Roles: []Role{RoleReader, RoleOperator}, Cert: "w.example"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Token{}, "Created")); diff != "" {
		t.Errorf("ListTokens() differs (-want +got):\n%s", diff)
	}
	if age := time.Since(got[0].Created); age < 0 || age > time.Minute {
		t.Errorf("the token was created %v ago", age)
	}
	if err := RevokeToken(path, "ci"); err != nil {
		t.Errorf("RevokeToken() = %v", err)
	}
	if err := RevokeToken(path, "ci"); !errors.Is(err, ErrNoToken) {
		t.Errorf("RevokeToken() again = %v, want ErrNoToken", err)
	}
	if got, _ := ListTokens(path); len(got) != 1 {
		t.Errorf("%d tokens are left, want 1", len(got))
	}
}

func TestSecretsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		s := newSecret()
		if seen[s] || !looksLikeSecret(s) {
			t.Fatal("a secret came twice, or does not look like one")
		}
		seen[s] = true
	}
}

func TestCreateRefuses(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "taken", Roles: reader, Cert: "taken.example"})
	before, _ := os.ReadFile(path)
	long := strings.Repeat("x", 2000)
	tests := []struct {
		name  string
		spec  TokenSpec
		field string
	}{
		{"no name", TokenSpec{Roles: reader}, "name"},
		{"long name", TokenSpec{Name: long, Roles: reader}, "name"},
		{"odd name", TokenSpec{Name: "a b", Roles: reader}, "name"},
		{"name of an open listener's caller", TokenSpec{Name: "local", Roles: reader}, "name"},
		{"a secret as the name", TokenSpec{Name: newSecret(), Roles: reader}, "name"},
		{"no roles", TokenSpec{Name: "a"}, "roles"},
		{"unknown role", TokenSpec{Name: "a", Roles: []Role{"admin"}}, "roles"},
		{"role twice", TokenSpec{Name: "a", Roles: []Role{RoleReader, RoleReader}}, "roles"},
		{"narrowed operator", TokenSpec{Name: "a", Roles: []Role{RoleOperator}, Resources: []string{"x"}}, "roles"},
		{"narrowed reader", TokenSpec{Name: "a", Roles: reader, Holders: []string{"x"}}, "roles"},
		{"empty holder", TokenSpec{Name: "a", Roles: []Role{RoleHolder}, Holders: []string{""}}, "holders"},
		{"long holder", TokenSpec{Name: "a", Roles: []Role{RoleHolder}, Holders: []string{long}}, "holders"},
		{"odd resource", TokenSpec{Name: "a", Roles: []Role{RoleHolder}, Resources: []string{"a\nb"}}, "resources"},
		{"too many", TokenSpec{Name: "a", Roles: []Role{RoleHolder}, Resources: make([]string, 257)}, "holders and resources"},
		{"long cert", TokenSpec{Name: "a", Roles: reader, Cert: long}, "cert"},
		{"over already", TokenSpec{Name: "a", Roles: reader, Expires: new(time.Now().Add(-time.Hour))}, "expires"},
		{"over since the year 1", TokenSpec{Name: "a", Roles: reader, Expires: new(time.Time)}, "expires"},
		{"year 10000", TokenSpec{Name: "a", Roles: reader, Expires: new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))}, "expires and created"},
	}
	for _, tt := range tests {
		secret, err := CreateToken(path, tt.spec)
		var e *leasehold.Error
		if !errors.As(err, &e) || e.Field != tt.field || !errors.Is(err, leasehold.ErrInvalid) || secret != "" {
			t.Errorf("%s: CreateToken() = %v, want ErrInvalid of %s", tt.name, err, tt.field)
		}
	}
	for _, spec := range []TokenSpec{{Name: "taken", Roles: reader}, {Name: "new", Roles: reader, Cert: "taken.example"}} {
		if _, err := CreateToken(path, spec); !errors.Is(err, ErrTokenExists) {
			t.Errorf("CreateToken(%+v) = %v, want ErrTokenExists", spec, err)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("a refused token changed the file")
	}
}

// childFile, when set, makes the test binary another process that creates
// tokens in that file.
const childFile = "LEASEHOLD_TEST_TOKEN_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		for i := range childTokens {
			if _, err := CreateToken(path, TokenSpec{Name: fmt.Sprintf("p%d-%d", os.Getpid(), i), Roles: reader}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const childTokens = 5

// TestNoCallIsLost, of this process or of others.
func TestNoCallIsLost(t *testing.T) {
	const goroutines, processes = 10, 4
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "old", Roles: reader})
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			if _, err := CreateToken(path, TokenSpec{Name: fmt.Sprint("g", i), Roles: reader}); err != nil {
				t.Errorf("CreateToken() = %v", err)
			}
		})
	}
	for range processes {
		wg.Go(func() {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childFile+"="+path)
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("a child said %s, %v", out, err)
			}
		})
	}
	wg.Go(func() {
		if err := RevokeToken(path, "old"); err != nil {
			t.Errorf("RevokeToken() = %v", err)
		}
	})
	wg.Wait()
	got, err := ListTokens(path)
	if want := goroutines + processes*childTokens; err != nil || len(got) != want {
		t.Errorf("%d tokens are in the file, %v; want %d", len(got), err, want)
	}
	wantFiles(t, path, "tokens", "tokens.lock")
}

// wantFiles checks that no temporary file was left behind.
func wantFiles(t *testing.T, path string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

func TestEditLeavesTheRestAlone(t *testing.T) {
	path := tokenPath(t)
	const by = `  {"roles": ["reader"], "name": "hand", "cert": "h"}  `
	writeFile(t, path, "# mine\r\n\n"+by+"\n  # the end")
	mustCreate(t, path, TokenSpec{Name: "new", Roles: reader, Cert: "n"})
	got, _ := os.ReadFile(path)
	if want := "# mine\r\n\n" + by + "\n  # the end\n{\"name\":\"new\","; !strings.HasPrefix(string(got), want) {
		t.Errorf("the file is now %q, want it to begin with %q", got, want)
	}
	if err := RevokeToken(path, "new"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "# mine\r\n\n"+by+"\n  # the end\n" {
		t.Errorf("the file is now %q", got)
	}
	if err := RevokeToken(path, "hand"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "# mine\r\n\n  # the end\n" {
		t.Errorf("the file is now %q", got)
	}
}

func TestLinkStaysALink(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "a", Roles: reader})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, link, TokenSpec{Name: "b", Roles: reader})
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
	if got, _ := ListTokens(path); len(got) != 2 {
		t.Errorf("the file has %d tokens, want 2", len(got))
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	writeFile(t, broken, "oops")
	big := filepath.Join(dir, "big")
	writeFile(t, big, strings.Repeat("#\n", maxFile/2)+"#")
	occupied := filepath.Join(dir, "occupied")
	writeFile(t, occupied, "")
	if err := os.Mkdir(occupied+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"no directory": filepath.Join(dir, "none", "tokens"), "a directory": dir, "a loop": loop,
		"a broken file": broken, "a huge file": big, "no lock": occupied,
	} {
		if secret, err := CreateToken(path, TokenSpec{Name: "a", Roles: reader}); err == nil || secret != "" {
			t.Errorf("CreateToken() with %s = %q, %v; want an error", name, secret, err)
		}
		if err := RevokeToken(path, "a"); err == nil {
			t.Errorf("RevokeToken() with %s = nil, want an error", name)
		}
	}
	for _, path := range []string{dir, loop, broken, big} {
		if _, err := ListTokens(path); err == nil {
			t.Errorf("ListTokens(%s) = nil, want an error", path)
		}
	}
	missing := filepath.Join(dir, "missing")
	if err := RevokeToken(missing, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("RevokeToken() without a file = %v, want not found", err)
	}
	if _, err := os.Stat(missing + ".lock"); err == nil {
		t.Error("RevokeToken() without a file left a lock behind")
	}
}

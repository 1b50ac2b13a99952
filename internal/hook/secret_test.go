package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/leasehold/leasehold"
)

func TestSecretIsShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "b", "secret")
	secrets := make([][]byte, 20)
	var running sync.WaitGroup
	for i := range secrets {
		running.Go(func() { secrets[i] = loadSecret(file) })
	}
	running.Wait()
	for i, secret := range secrets {
		if len(secret) != secretSize || !bytes.Equal(secret, secrets[0]) {
			t.Errorf("hook %d has another secret than hook 0", i)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret's file is %v, %v, want the mode 0600", info, err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the secret are %v, %v, want nothing", left, err)
	}
}

// A secret that others could read, or that is none, is replaced.
func TestBadSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text []byte
		mode os.FileMode
	}{"readable": {bytes.Repeat([]byte("x"), secretSize), 0o644}, "short": {[]byte("x"), 0o600}, "empty": {nil, 0o600}} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, c.text, c.mode); err != nil {
			t.Fatal(err)
		}
		got := loadSecret(file)
		if len(got) != secretSize || bytes.Equal(got, c.text) || !bytes.Equal(got, loadSecret(file)) {
			t.Errorf("loadSecret() of a file that is %s is the old one, or another at each call", name)
		}
	}
	write(t, filepath.Join(dir, "file"), "x")
	impossible := filepath.Join(dir, "file", "secret")
	if a, b := loadSecret(impossible), loadSecret(impossible); len(a) != secretSize || bytes.Equal(a, b) {
		t.Error("loadSecret() without a file is the same twice, want one for each call")
	}
}

func TestSecretInCacheFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("LocalAppData", dir)
	if a, b := loadSecret(""), loadSecret(""); !bytes.Equal(a, b) {
		t.Error("loadSecret() is another at each call")
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("LocalAppData", "")
	if len(loadSecret("")) != secretSize {
		t.Error("loadSecret() without a home is no secret")
	}
}

func TestLeaseIDs(t *testing.T) {
	seen := map[leasehold.ID]bool{}
	for _, secret := range []string{"one", "two"} {
		for _, holder := range []string{"claude:a", "claude:b"} {
			for _, c := range leasehold.Paths("n", "p", "np") {
				for generation := range generations {
					id := leaseID([]byte(secret), holder, c, generation)
					if seen[id] || id != leaseID([]byte(secret), holder, c, generation) {
						t.Errorf("leaseID(%q, %q, %v, %d) is not its own", secret, holder, c, generation)
					}
					seen[id] = true
					if again, err := leasehold.ParseID(id.Reveal()); err != nil || again != id {
						t.Errorf("ParseID(leaseID()) = %v, want a UUID", err)
					}
				}
			}
		}
	}
	if a, b := leaseID(nil, "h", leasehold.Claim{Namespace: "a", Pattern: "bc"}, 0), leaseID(nil, "h", leasehold.Claim{Namespace: "ab", Pattern: "c"}, 0); a == b {
		t.Error("leaseID() is the same where the parts meet elsewhere")
	}
}

// Without a file for the secret a second edit is allowed all the same.
func TestNoSecretFile(t *testing.T) {
	inBubble(t, func(d *desk) {
		write(d.t, filepath.Join(d.dir, "file"), "x")
		d.SecretFile = filepath.Join(d.dir, "file", "secret")
		d.granted("the first edit", d.edit("a", "x"))
		d.granted("the second edit", d.edit("a", "x"))
		d.denied("of another", d.edit("b", "x"))
	})
}

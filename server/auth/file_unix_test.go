//go:build unix

package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMode(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "a", Roles: reader})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v, %v; want 0600", info.Mode(), err)
	}
	for mode, want := range map[os.FileMode]struct{ alone, group bool }{
		0o600: {true, true}, 0o400: {true, true},
		0o640: {false, true}, 0o440: {false, true},
		0o620: {false, false}, 0o660: {false, false}, 0o610: {false, false},
		0o604: {false, false}, 0o602: {false, false}, 0o644: {false, false}, 0o666: {false, false}, 0o777: {false, false},
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for group, want := range map[bool]bool{false: want.alone, true: want.group} {
			g, err := New(&Options{TokenFile: path, GroupMayRead: group, Logger: new(logBuffer).logger()})
			if (err == nil) != want {
				t.Errorf("New() with mode %#o, GroupMayRead %v = %v, want success: %v", mode, group, err, want)
			}
			if err == nil {
				g.Close()
			} else if !strings.Contains(err.Error(), "chmod 600") || !strings.Contains(err.Error(), fmt.Sprintf("%#o", mode)) {
				t.Errorf("New() with mode %#o = %v, want the mode and what to do", mode, err)
			}
		}
	}
}

// TestEditKeepsModeAndOwner: an administrator who adds a token must not take the
// file away from the server's user.
func TestEditKeepsModeAndOwner(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "a", Roles: reader})
	if os.Getuid() == 0 { // others cannot give files away
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before := status(t, path)
	mustCreate(t, path, TokenSpec{Name: "b", Roles: reader})
	after := status(t, path)
	if before.Mode != after.Mode || before.Uid != after.Uid || before.Gid != after.Gid {
		t.Errorf("mode %o, owner %d:%d became mode %o, owner %d:%d",
			before.Mode, before.Uid, before.Gid, after.Mode, after.Uid, after.Gid)
	}
	if before.Ino == after.Ino {
		t.Error("the file was written in place: a crash could leave half of it")
	}
}

func status(t *testing.T, path string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}

// TestPipe must not wait for somebody to write into it.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListTokens(path); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("ListTokens(pipe) = %v, want an error", err)
	}
}

func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.MkdirAll(filepath.Join(target, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := replace(target, []byte("x")); err == nil {
		t.Error("replace() of a directory = nil, want an error")
	}
	wantFiles(t, target, "target")
	if err := replace(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("replace() without a directory = nil, want an error")
	}
}

//go:build unix

package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// endlessly is input without an end.
type endlessly byte

func (b endlessly) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// A hook of git ends whatever does not: with a warning, or refusing.
func TestGitHookEnds(t *testing.T) {
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Chdir(t.TempDir())
	if out, err := exec.Command("sh", "-c", "git init -q && git config leasehold.repository shop && echo 1 > x && git add x").CombinedOutput(); err != nil {
		t.Fatalf("git: %v: %s", err, out)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the system does
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	t.Setenv("LEASEHOLD_STORE", "http://"+silent.Addr().String())
	open, tail := io.Pipe()
	defer tail.Close()
	hangs := t.TempDir()
	if err := os.WriteFile(filepath.Join(hangs, "git"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "token")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		in    io.Reader
		limit string
		path  string // before PATH
		token string
		event string
		want  string
	}{
		"endless line breaks":  {endlessly('\n'), "10m", "", "", "pre-push", "more than 32 MiB"},
		"endless text":         {endlessly('x'), "10m", "", "", "pre-push", "token too long"},
		"open input":           {open, "200ms", "", "", "pre-push", "the time of a git hook is over"},
		"git hangs":            {open, "200ms", hangs, "", "pre-commit", "the time of a git hook is over"},
		"silent server":        {open, "1500ms", "", "", "pre-commit", "nobody"},
		"a pipe for the token": {open, "1500ms", "", pipe, "pre-commit", "the time of a git hook is over"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.path != "" {
				t.Setenv("PATH", c.path+string(os.PathListSeparator)+os.Getenv("PATH"))
			}
			t.Setenv("LEASEHOLD_TOKEN_FILE", c.token)
			for flag, code := range map[string]int{"--fail-closed=false": exitOK, "--fail-closed": -1} {
				var said strings.Builder
				a := &app{in: c.in, out: io.Discard, err: &said}
				got := a.hook([]string{"git", "--limit", c.limit, flag, "--", c.event, "origin", "url"})
				if code >= 0 && got != code || code < 0 && (got == exitOK || got == exitConflict) || !strings.Contains(said.String(), c.want) {
					t.Errorf("with %s the hook exits with %d and says %q, want %d (-1: neither 0 nor 1) and %q", flag, got, said.String(), code, c.want)
				}
			}
		})
	}
}

//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBinaryRunServerHangs: a server that stands still for longer than the ttl,
// while its clock goes on. The command is gone before the server can give the
// lease to the next in line.
func TestBinaryRunServerHangs(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	file := filepath.Join(t.TempDir(), "diary")
	run := func(args ...string) *running {
		return startProcess(t, binary(t, append([]string{"--store", s.url, "run"}, args...)...), func(*exec.Cmd) {})
	}
	first := run(append([]string{"--ttl", shortTTL, "--holder", "first", "a", "--"}, diary(file, "first")...)...)
	command := first.number("pid")
	second := run("--holder", "second", "a", "--", "sh", "-c", "echo second >>'"+file+"'")
	eventually(t, "the second is in line", func() bool { return s.status("a").at("waiters.0.holder") == "second" })
	s.process.signal(syscall.SIGSTOP)
	gone(t, -command)
	s.process.signal(syscall.SIGCONT)
	first.wantCode(79)
	second.wantCode(0)
	wantTurns(t, file, "first", "second")
}

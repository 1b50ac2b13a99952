//go:build unix

package repo_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// runFlow runs the plain-curl script.
func (p *program) runFlow(t *testing.T) {
	cmd := exec.Command("examples/curl/flow.sh", p.url)
	cmd.Env = append(p.environment(), "TMPDIR="+t.TempDir())
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("flow.sh = %v\n%s", err, text)
	}
	for _, want := range []string{"201  anna acquires", "409  ben is refused: lease_held, held by anna", "the history has 2 releases"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("flow.sh printed no %q:\n%s", want, text)
		}
	}
}

// runExamples builds the example programs and runs them against the server.
func (p *program) runExamples(t *testing.T) {
	dir := t.TempDir()
	build(t, "", dir, "./examples/...")
	example := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(dir, name), args...)
		cmd.Env = append(p.environment(), "TMPDIR="+dir)
		return cmd
	}
	t.Run("first", func(t *testing.T) { prints(t, example("first"), `holds "invoices" with token 1$`) })
	t.Run("worker", func(t *testing.T) {
		p.run(t, "acquire", "job:2", "--holder", "somebody", "--ttl", "1m")
		prints(t, example("worker", "job:1", "job:2", "job:3"),
			`^job:1: done with token \d+\njob:2: left to somebody\njob:3: done with token \d+$`)
	})
	t.Run("paths", func(t *testing.T) {
		prints(t, example("paths", "app", "src/auth/**", "go.mod"),
			`^editing src/auth/\*\* with token \d+\nediting go.mod with token \d+$`)
		prints(t, example("paths", "app", "go.mod"), `^.+ left a note: edited, not yet reviewed\nediting go.mod with token \d+$`)
		p.run(t, "acquire", "--namespace", "app", "--path", "src/auth/login.go", "--holder", "somebody", "--ttl", "1m")
		prints(t, example("paths", "app", "src/**"),
			`^left to somebody, who has app src/auth/login.go: both cover src/auth/login.go$`)
	})
	t.Run("cron", func(t *testing.T) {
		if err := example("cron", "report", "--", "false").Run(); err == nil {
			t.Error("cron of a job that fails = success, want its failure")
		}
		prints(t, example("cron", "report", "--", "sh", "-c", "echo sent with $LEASEHOLD_TOKEN"), `^sent with \d+$`)
		prints(t, example("cron", "report", "--", "echo", "twice"), `^cron:report:\d{4}-\d\d-\d\d: left to .+$`)
	})
	t.Run("leader", func(t *testing.T) { succeeds(t, example("leader", "node-1"), example("leader", "node-2")) })
}

func prints(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	text, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(text)); err != nil || !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("%q = %v, want %q; it printed:\n%s", cmd.Args[1:], err, want, got)
	}
}

// succeeds ends the one that leads and sees the other take over.
func succeeds(t *testing.T, first, second *exec.Cmd) {
	t.Helper()
	led := func(cmd *exec.Cmd) *bufio.Scanner {
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return bufio.NewScanner(out)
	}
	says := func(lines *bufio.Scanner, want string) {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("the leader said %q, want %q", lines.Text(), want)
		}
	}
	leader := led(first)
	says(leader, "node-1 leads with token ")
	heir := led(second)
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	says(leader, "node-1 steps down")
	says(heir, "node-2 leads with token ")
	if err := first.Wait(); err != nil {
		t.Errorf("the first leader ended with %v, want success", err)
	}
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	says(heir, "node-2 steps down")
	if err := second.Wait(); err != nil {
		t.Errorf("the second leader ended with %v, want success", err)
	}
}

package guard

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSurvivors: the message names the processes that run, and is empty when none
// does.
func TestSurvivors(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := group(cmd.Process.Pid)
	process := fmt.Sprintf("process %d (\"sleep\", uid %d)", g, syscall.Getuid())
	for refused, why := range map[error]string{syscall.EPERM: fmt.Sprintf("kill -KILL -- -%d", g), nil: "was sent SIGKILL and is still there"} {
		if got := g.survivors(refused); !strings.Contains(got, process) || !strings.Contains(got, why) {
			t.Errorf("survivors(%v) = %q, want %q and %q in it", refused, got, process, why)
		}
	}
	if err := g.kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); g.survivors(syscall.EPERM) != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a killed process is a survivor: %q", g.survivors(nil))
		}
	}
	if g.empty() {
		t.Error("the group is empty before its process was waited for; nothing was shown of those that only ended")
	}
	_ = cmd.Wait()
	if got := g.survivors(nil); got != "" {
		t.Errorf("survivors of an empty group = %q, want none", got)
	}
}

func TestDescribe(t *testing.T) {
	var many []member
	for pid := range 6 {
		many = append(many, member{pid: pid, name: "a\x1b[2J", uid: "7"})
	}
	for want, members := range map[string][]member{
		"process group 5":               nil,
		`process 0 ("a\x1b[2J", uid 7)`: many[:1],
		`process 0 ("a\x1b[2J", uid 7) and process 1 ("a\x1b[2J", uid 7) and process 2 ("a\x1b[2J", uid 7) and process 3 ("a\x1b[2J", uid 7) and 2 more`: many,
	} {
		if got := describe(5, members); got != want {
			t.Errorf("describe(%d members) = %q, want %q", len(members), got, want)
		}
	}
}

//go:build unix

package observability

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// command is a command of the program, in a block or within a sentence.
var command = regexp.MustCompile("(?m)(?:^|`)leasehold ([a-z][a-z-]*)")

// TestCommandsExist: somebody who was paged can run what the runbooks say.
func TestCommandsExist(t *testing.T) {
	program, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, "../../docs/slo.md", "../../docs/observability.md") {
		for _, m := range command.FindAllStringSubmatch(read(t, file), -1) {
			found++
			out, err := exec.Command(program, m[1], "--help").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Usage:\n  leasehold "+m[1]+" ") { // else it is the help of all
				t.Errorf("%s says leasehold %s, which is no command: %v", filepath.Base(file), m[1], err)
			}
		}
	}
	if found < 8 {
		t.Errorf("the documents have %d commands; too little was checked", found)
	}
}

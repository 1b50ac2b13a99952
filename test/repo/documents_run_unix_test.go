//go:build unix

package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// step is a block of shell in a document, and the answer that stands below it.
type step struct {
	command fenced
	answer  *fenced // "json STATUS" or "text answer"; nil: it need only succeed
}

// steps returns the blocks marked "sh run" of a document.
func steps(text string) []step {
	var all []step
	open := false // whether the block before was a command
	for _, block := range fences(text) {
		isAnswer := strings.HasPrefix(block.Info, "json ") || block.Info == "text answer"
		if isAnswer && open {
			all[len(all)-1].answer = &block
		}
		if open = block.Info == "sh run"; open {
			all = append(all, step{command: block})
		}
	}
	return all
}

// runDocuments runs the commands of the documents and compares the answers.
func (p *program) runDocuments(t *testing.T) {
	found := 0
	for _, file := range documents(t) {
		if all := steps(readText(t, file)); len(all) > 0 {
			found += len(all)
			t.Run(file, func(t *testing.T) { p.runSession(t, file, all) })
		}
	}
	if found == 0 {
		t.Error("no block to run was found in README.md and docs; the test has checked nothing")
	}
}

// runSession runs the steps of one document in one shell, so that a block can
// use what an earlier one has set. The README's run in the repository, those of
// docs/ in a temporary directory.
func (p *program) runSession(t *testing.T, file string, all []step) {
	outputs, work := t.TempDir(), t.TempDir()
	if file == "README.md" {
		work = "."
	}
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", p.script(outputs, all))
	cmd.Dir, cmd.Env = work, append(p.environment(), "TMPDIR="+t.TempDir())
	text, failed := cmd.CombinedOutput()
	for i, s := range all {
		out, errNone := os.ReadFile(output(outputs, i, "out"))
		said, _ := os.ReadFile(output(outputs, i, "err"))
		_, errUndone := os.Stat(output(outputs, i, "done"))
		if errNone != nil || errUndone != nil {
			t.Fatalf("%s:%d: the block does not run: %v\n%s%s%s", file, s.command.Line, failed, out, said, text)
		}
		if s.answer == nil {
			continue
		}
		for _, wrong := range p.compare(*s.answer, string(out), string(said)) {
			t.Errorf("%s:%d: %s; the answer was:\n%s%s", file, s.answer.Line, wrong, out, said)
		}
	}
}

// script makes curl quiet, with the status on standard error, and replaces the
// default server's address by that of this test.
func (p *program) script(outputs string, all []step) string {
	var b strings.Builder
	b.WriteString("curl() { command curl -sS -w '%{stderr}%{http_code}\\n' \"$@\"; }\n")
	for i, s := range all {
		fmt.Fprintf(&b, "{\n%s\n} >%s 2>%s </dev/null\n: >%s\n", p.here(strings.Join(s.command.Lines, "\n")),
			output(outputs, i, "out"), output(outputs, i, "err"), output(outputs, i, "done"))
	}
	return b.String()
}

func output(dir string, i int, kind string) string {
	return filepath.Join(dir, fmt.Sprintf("%d.%s", i, kind))
}

func (p *program) here(text string) string {
	return strings.ReplaceAll(text, "http://127.0.0.1:8105", p.url)
}

// compare returns what differs between the answer of a document and the real
// one.
func (p *program) compare(answer fenced, out, said string) []string {
	want := p.here(strings.Join(answer.Lines, "\n"))
	status, isJSON := strings.CutPrefix(answer.Info, "json ")
	if !isJSON {
		return diffText(want, out+said)
	}
	said = strings.TrimSpace(said)
	if got := said[strings.LastIndexByte(said, '\n')+1:]; got != status {
		return []string{fmt.Sprintf("the status was %q, want %q", got, status)}
	}
	return diffJSON(want, out)
}

var (
	someID     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	someNumber = regexp.MustCompile(`\d+`)
	someSpaces = regexp.MustCompile(` +`)
)

// diffText compares line by line, where any number stands for any other. A line
// of the document that is "…" stands for any lines.
func diffText(want, got string) []string {
	plain := func(s string) []string {
		s = someNumber.ReplaceAllString(someID.ReplaceAllString(s, "ID"), "0")
		return unindent(strings.Split(strings.TrimSpace(someSpaces.ReplaceAllString(s, " ")), "\n"))
	}
	wanted, have := plain(want), plain(got)
	skip := false
	for _, line := range wanted {
		if line == "…" {
			skip = true
			continue
		}
		for skip && len(have) > 0 && have[0] != line {
			have = have[1:]
		}
		if len(have) == 0 || have[0] != line {
			return []string{fmt.Sprintf("there is no line %q at its place", line)}
		}
		have, skip = have[1:], false
	}
	if len(have) > 0 && !skip {
		return []string{fmt.Sprintf("there is another line %q", have[0])}
	}
	return nil
}

func TestSteps(t *testing.T) {
	text := "```sh run\na\n```\n```json 201\n{}\n```\n```sh run\nb\n```\n```go\nc\n```\n```text answer\nd\n```\n```sh\ne\n```\n"
	all := steps(text)
	if len(all) != 2 || all[0].answer == nil || all[0].answer.Info != "json 201" || all[1].answer != nil {
		t.Errorf("steps() = %+v, want a with its answer, and b without one", all)
	}
}

func TestDiffText(t *testing.T) {
	const got = "token 17 of 0d9f6a0e-4b3c-4c52-9f0b-6f1c2a7e5d10\nb   c\nd\n"
	tests := []struct {
		name, want string
		differs    bool
	}{
		{"the same", got, false},
		{"other numbers and spaces", "token 3 of 7c1b9d52-8e0f-4f6d-a3b1-2e4c6a8f0b31\nb c\nd", false},
		{"another word", "token 3 of 7c1b9d52-8e0f-4f6d-a3b1-2e4c6a8f0b31\nb x\nd", true},
		{"lines left out", "…\nd", false},
		{"the end left out", "…\nb c\n…", false},
		{"lines left out in silence", "d", true},
		{"the end left out in silence", "…\nb c", true},
		{"a line that is not there", "…\nx\n…", true},
	}
	for _, tt := range tests {
		if wrong := diffText(tt.want, got); len(wrong) > 0 != tt.differs {
			t.Errorf("diffText(%s) = %q, want differences: %v", tt.name, wrong, tt.differs)
		}
	}
}

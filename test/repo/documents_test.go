package repo_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fenced is a fenced code block of a document.
type fenced struct {
	Info  string // what stands after the opening fence: "go", "sh run", …
	Line  int    // of the opening fence
	Lines []string
}

// TestDocumentsSayWhatCompiles: every block of Go in a document stands word for
// word in a Go file of this repository, which the compiler checks. TestProgram
// runs the documents' commands.
func TestDocumentsSayWhatCompiles(t *testing.T) {
	sources := goSources(t)
	found := 0
	for _, file := range documents(t) {
		for _, block := range fences(readText(t, file)) {
			if block.Info != "go" {
				continue
			}
			found++
			if !standsIn(block.Lines, sources) {
				t.Errorf("%s:%d: this block stands in no Go file:\n%s", file, block.Line, strings.Join(block.Lines, "\n"))
			}
		}
	}
	if found == 0 {
		t.Error("no block of Go was found in README.md and docs; the test has checked nothing")
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"README.md"}, docs...)
}

// TestDocumentsLinkToWhatExists follows the links inside the repository, to the
// heading if one is named.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	for _, file := range append(documents(t), "CONTRIBUTING.md", "CHANGELOG.md") {
		for _, found := range link.FindAllStringSubmatch(readText(t, file), -1) {
			if strings.Contains(found[1], "://") {
				continue // only loopback in tests
			}
			target := file
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(file), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, found[1])
			} else if found[2] != "" && !slices.Contains(anchors(t, target), found[2]) {
				t.Errorf("%s links to %s#%s, which is no heading there", file, found[1], found[2])
			}
		}
	}
}

// TestDocumentsNameTestsThatExist: a test or benchmark that a document names is
// declared in some Go file.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	declared := map[string]bool{}
	for _, lines := range goSources(t) {
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(line, "func "); ok {
				name, _, _ := strings.Cut(rest, "(")
				declared[name] = true
			}
		}
	}
	found := 0
	for _, file := range append(documents(t), "CONTRIBUTING.md") {
		for _, name := range testName.FindAllString(readText(t, file), -1) {
			if found++; !declared[name] {
				t.Errorf("%s names %s, which no Go file declares", file, name)
			}
		}
	}
	if found == 0 {
		t.Error("no document names a benchmark; the test has checked nothing")
	}
}

var testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`)

// anchors returns the names of a document's headings in links.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	odd := regexp.MustCompile(`[^\pL\pN _-]`)
	var names []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readText(t, file), -1) {
		names = append(names, strings.ReplaceAll(odd.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return names
}

// goSources returns the Go files of the repository as lines without their
// indentation.
func goSources(t *testing.T) (sources [][]string) {
	t.Helper()
	for _, file := range repositoryFiles(t) {
		if path.Ext(file) == ".go" {
			sources = append(sources, unindent(strings.Split(readText(t, file), "\n")))
		}
	}
	return sources
}

// standsIn reports whether the lines stand in one of the sources, one after
// the other.
func standsIn(lines []string, sources [][]string) bool {
	lines = unindent(lines)
	for _, source := range sources {
		for i := range source {
			if len(source)-i >= len(lines) && slices.Equal(source[i:i+len(lines)], lines) {
				return len(lines) > 0
			}
		}
	}
	return false
}

func unindent(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSpace(line)
	}
	return out
}

// fences returns the fenced blocks of a Markdown text.
func fences(text string) []fenced {
	const mark = "```"
	var blocks []fenced
	inside := false
	for i, line := range strings.Split(text, "\n") {
		info, isMark := strings.CutPrefix(strings.TrimSpace(line), mark)
		switch {
		case isMark && inside:
			inside = false
		case isMark:
			inside = true
			blocks = append(blocks, fenced{Info: strings.TrimSpace(info), Line: i + 1})
		case inside:
			last := &blocks[len(blocks)-1]
			last.Lines = append(last.Lines, line)
		}
	}
	return blocks
}

func TestFences(t *testing.T) {
	text := "a\n```go\nx := 1\n\ty()\n```\nb\n```sh run\ntrue\n```\n```\nplain\n```\n"
	blocks := fences(text)
	if len(blocks) != 3 {
		t.Fatalf("fences found %d blocks, want 3", len(blocks))
	}
	if b := blocks[0]; b.Info != "go" || b.Line != 2 || !slices.Equal(b.Lines, []string{"x := 1", "\ty()"}) {
		t.Errorf("first block = %+v, want the Go lines of line 2", b)
	}
	if b := blocks[1]; b.Info != "sh run" || b.Line != 7 {
		t.Errorf("second block = %+v, want sh run in line 7", b)
	}
}

func TestStandsIn(t *testing.T) {
	sources := [][]string{{"package a"}, {"func f() {", "x := 1", "y()", "}"}}
	tests := []struct {
		name  string
		lines []string
		want  bool
	}{
		{"the whole", []string{"func f() {", "\tx := 1", "\ty()", "}"}, true},
		{"a part, indented otherwise", []string{"x := 1", "    y()"}, true},
		{"the last line", []string{"}"}, true},
		{"another word", []string{"x := 2", "y()"}, false},
		{"a line left out", []string{"func f() {", "y()"}, false},
		{"beyond the end", []string{"}", ""}, false},
		{"nothing", nil, false},
	}
	for _, tt := range tests {
		if got := standsIn(tt.lines, sources); got != tt.want {
			t.Errorf("standsIn(%s) = %v, want %v", tt.name, got, tt.want)
		}
	}
}

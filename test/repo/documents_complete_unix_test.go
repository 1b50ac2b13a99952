//go:build unix

package repo_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// checkComplete compares the documents with what the program says of itself:
// every call, every code that a call names, every command, every exit code.
func (p *program) checkComplete(t *testing.T) {
	api, cli := readText(t, "docs/api.md"), readText(t, "docs/cli.md")
	var described struct {
		Paths map[string]json.RawMessage
	}
	answer, err := http.Get(p.url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&described); err != nil || len(described.Paths) < 20 {
		t.Fatalf("/openapi.json = %d paths, %v", len(described.Paths), err)
	}
	code := regexp.MustCompile(`"enum":\["([a-z_]+)"`)
	for path, calls := range described.Paths {
		if !regexp.MustCompile(`[ ` + "`" + `]` + regexp.QuoteMeta(path) + "[`?]").MatchString(api) {
			t.Errorf("docs/api.md does not describe %s", path)
		}
		for _, found := range code.FindAllStringSubmatch(string(calls), -1) {
			if !strings.Contains(api, "`"+found[1]+"`") && found[1] != "deadlock" { // comes with sets of resources
				t.Errorf("docs/api.md does not explain %s of %s", found[1], path)
			}
		}
	}
	help := p.run(t, "--help")
	for _, command := range regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z]`).FindAllStringSubmatch(help, -1) {
		if name := command[1]; name != "help" && !regexp.MustCompile("`"+name+"[` ]").MatchString(cli) {
			t.Errorf("docs/cli.md does not name the command %s", name)
		}
	}
	for _, exit := range regexp.MustCompile(`(?m)^  (\d+) +(\S.*)$`).FindAllStringSubmatch(help, -1) {
		if row := "| " + exit[1] + " | " + exit[2] + " |"; !strings.Contains(cli, row) {
			t.Errorf("docs/cli.md has no row %q", row)
		}
	}
}

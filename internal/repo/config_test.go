package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var configs = []string{
	"",
	"[remote \"origin\"]\n\turl = https://a/b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
	"[remote \"origin\"] url=x # comment\n[core]ignorecase\n",
	"; c\n# d\n[A.B]\nkey = \"quoted ; value\" tail ; comment\n",
	"[a \"b\\\"c\\\\d\"]\n  k = one\\\n two\n  k = \\t\\n\\b\\\\\\\"\n",
	"[a]\nk =   spaces  inside   \nk = \"  kept  \"\nk=\nk2\n",
	"\ufeff[a]\r\nk = v\r\n",
	"[a]\n[b \"X\"]\nK-1 = 1\n[B \"x\"]\nk=2",
	"[user]\n\tname = J. R. \"Bob\" D\n",
}

// TestConfigAsGitReadsIt compares the parser with git's own.
func TestConfigAsGitReadsIt(t *testing.T) {
	for _, text := range configs {
		if diff := cmp.Diff(gitSettings(t, text), parseConfig(text), cmp.AllowUnexported(setting{})); diff != "" {
			t.Errorf("parseConfig(%q) differs (-git +got):\n%s", text, diff)
		}
	}
}

func gitSettings(t *testing.T, text string) (c config) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "config", "--file", name, "--list", "-z").Output()
	if err != nil {
		t.Fatalf("git config of %q: %v", text, err)
	}
	for record := range strings.SplitSeq(string(out), "\x00") {
		key, value, hasValue := strings.Cut(record, "\n")
		if !hasValue {
			value = "true"
		}
		if key != "" {
			c = append(c, setting{key, value})
		}
	}
	return c
}

func TestBrokenConfig(t *testing.T) {
	for text, want := range map[string]config{
		"k = v\n[a]\nk = v":            {{"a.k", "v"}},
		"[a\nk = v\n[b]\nk = v":        {{"b.k", "v"}},
		"[a":                           nil,
		"[a \"b\nk = v\n[c]\nk=1":      {{"c.k", "1"}},
		"[a \"b\" x]\nk = v\n[c]\nk=1": {{"c.k", "1"}},
		"[a]\nk = \"open\nj = 1":       {{"a.j", "1"}},
		"[a]\nk = \\x\nj = 1":          {{"a.j", "1"}},
		"[a]\nk = \\":                  nil,
		"[a]\n= v\n#\nj=1":             {{"a.j", "1"}},
	} {
		if diff := cmp.Diff(want, parseConfig(text), cmp.AllowUnexported(setting{})); diff != "" {
			t.Errorf("parseConfig(%q) differs (-want +got):\n%s", text, diff)
		}
	}
}

func TestSettingsOfConfig(t *testing.T) {
	c := parseConfig("[a]\nk = 1\nk = 2\non = yes\noff = no\nbare\n")
	if got := c.first("a.k") + c.last("a.k") + c.first("a.x") + c.last("a.x"); got != "12" {
		t.Errorf("first and last are %q, want 12", got)
	}
	if !c.boolean("a.on") || c.boolean("a.off") || !c.boolean("a.bare") || c.boolean("a.x") {
		t.Error("boolean() reads yes, no, a name alone and a missing setting wrong")
	}
}

// FuzzConfig shows that the parser ends, whatever it reads.
func FuzzConfig(f *testing.F) {
	for _, text := range configs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range parseConfig(text) {
			if !strings.Contains(s.key, ".") {
				t.Errorf("parseConfig(%q) has the key %q", text, s.key)
			}
		}
	})
}

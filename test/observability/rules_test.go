//go:build unix

package observability

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// rule is a rule of Prometheus.
type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func readRules(t testing.TB, file string) (rules []rule) {
	t.Helper()
	var text struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(read(t, shipped, "rules", file)), &text); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, g := range text.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

func readAlerts(t testing.TB) []rule {
	t.Helper()
	alerts := readRules(t, "alerts.yml")
	if len(alerts) < 10 {
		t.Fatalf("there are %d alerts; too little is checked", len(alerts))
	}
	return alerts
}

// TestEachAlertIsTried: promtool tries each alert once where it fires, and once where
// it stays silent.
func TestEachAlertIsTried(t *testing.T) {
	fires, silent := triedAlerts(t)
	known := map[string]bool{}
	for _, a := range readAlerts(t) {
		known[a.Alert] = true
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s is tried where it fires: %v, and where it stays silent: %v", a.Alert, fires[a.Alert], silent[a.Alert])
		}
	}
	for name := range fires {
		if !known[name] {
			t.Errorf("rules tries %s, which is no alert", name)
		}
	}
}

var firing = regexp.MustCompile(`^count\(ALERTS\{alertname="(\w+)",alertstate="firing"\}\)$`)

// triedAlerts returns the alerts that some case sees firing, and those that a case
// never does.
func triedAlerts(t *testing.T) (fires, silent map[string]bool) {
	t.Helper()
	fires, silent = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("rules/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var text struct {
			Tests []struct {
				Name   string
				Checks []struct {
					Expr    string
					Samples []any `yaml:"exp_samples"`
				} `yaml:"promql_expr_test"`
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range text.Tests {
			name, seen := "", false
			for _, check := range c.Checks {
				found := firing.FindStringSubmatch(check.Expr)
				if found == nil || !strings.HasPrefix(c.Name, found[1]+" ") {
					t.Fatalf("%s: %s: does not count the alert of its name: %s", file, c.Name, check.Expr)
				}
				name, seen = found[1], seen || len(check.Samples) > 0
			}
			fires[name], silent[name] = fires[name] || seen, silent[name] || !seen
		}
	}
	return fires, silent
}

// TestEachAlertHasARunbook, and each runbook an alert.
func TestEachAlertHasARunbook(t *testing.T) {
	const prefix = "https://github.com/leasehold/leasehold/blob/main/"
	pages := map[string]bool{}
	for _, a := range readAlerts(t) {
		link := a.Annotations["runbook_url"]
		file, ok := strings.CutPrefix(link, prefix)
		if want := "docs/runbooks/" + kebab(a.Alert) + ".md"; !ok || file != want {
			t.Errorf("%s has the runbook %s, want %s", a.Alert, link, prefix+want)
			continue
		}
		pages[filepath.Base(file)] = true
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s has no summary or description", a.Alert)
		}
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range []string{"# " + a.Alert + "\n", "\n## What it means\n", "\n## How to look\n", "\n## How to fix\n"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q", file, part)
			}
		}
	}
	files, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/runbooks has %q, %v", files, err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !pages[name] && name != "README.md" {
			t.Errorf("docs/runbooks/%s is the page of no alert", name)
		}
	}
}

var upper = regexp.MustCompile(`[A-Z]`)

// kebab writes LeaseLost as lease-lost.
func kebab(name string) string {
	return strings.ToLower(strings.TrimPrefix(upper.ReplaceAllString(name, "-$0"), "-"))
}

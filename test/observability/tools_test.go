//go:build unix

package observability

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/internal/testserver"
)

// run executes a tool of Prometheus' and returns what it printed: where it failed,
// with what it said about that.
func run(t *testing.T, stdin, tool string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(testserver.Tool(t, tool), args...)
	cmd.Stdin = strings.NewReader(stdin)
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return string(text) + said.String(), err
	}
	return string(text), nil
}

func mustRun(t *testing.T, tool string, args ...string) string {
	t.Helper()
	text, err := run(t, "", tool, args...)
	if err != nil {
		t.Fatalf("%s %q = %v\n%s", tool, args, err, text)
	}
	return text
}

func TestConfigurations(t *testing.T) {
	mustRun(t, "promtool", "check", "config", filepath.Join(shipped, "prometheus.yml"))
	mustRun(t, "promtool", "check", "rules", "--lint=all", "--lint-fatal",
		filepath.Join(shipped, "rules", "recording.yml"), filepath.Join(shipped, "rules", "alerts.yml"))
	mustRun(t, "amtool", "check-config", filepath.Join(shipped, "alertmanager.yml"))
}

func TestRules(t *testing.T) {
	files, err := filepath.Glob("rules/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("rules has %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			mustRun(t, "promtool", "test", "rules", file)
		})
	}
}

// TestRoutes: critical alerts page somebody, the others open a ticket.
func TestRoutes(t *testing.T) {
	for _, a := range readAlerts(t) {
		want := map[string]string{"critical": "page", "warning": "ticket"}[a.Labels["severity"]]
		got := mustRun(t, "amtool", "config", "routes", "test", "--config.file", filepath.Join(shipped, "alertmanager.yml"),
			"alertname="+a.Alert, "severity="+a.Labels["severity"], "environment=test")
		if want == "" || strings.TrimSpace(got) != want {
			t.Errorf("%s with severity %q goes to %q, want %q", a.Alert, a.Labels["severity"], strings.TrimSpace(got), want)
		}
	}
}

// TestMetricsPage: the real page has no fault but the unit of the histograms that
// the contract measures in milliseconds.
func TestMetricsPage(t *testing.T) {
	promtool := testserver.Tool(t, "promtool")
	s := startServer(t)
	a := startApp(t, s.url)
	newLoad(t, s, a).run()
	unit := regexp.MustCompile(`^leasing_(acquisition_duration|acquisition_wait|renewal_duration)_milliseconds use base unit "seconds" instead of "milliseconds"$`)
	for name, url := range map[string]string{"server": s.url + "/metrics", "program": a.page.URL} {
		text, _ := run(t, getText(t, url), promtool, "check", "metrics")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for _, line := range lines {
			if !unit.MatchString(line) {
				t.Errorf("promtool check metrics of the %s: %s", name, line)
			}
		}
		if len(lines) != 3 {
			t.Errorf("promtool check metrics of the %s has %d lines, want one for each of three histograms:\n%s", name, len(lines), text)
		}
	}
}

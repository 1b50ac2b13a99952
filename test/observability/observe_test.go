//go:build unix

package observability

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

// TestObserve runs what `make observe` runs, until Prometheus has seen the server and
// the program at work. Ctrl-C ends all of it.
func TestObserve(t *testing.T) {
	testserver.Tool(t, "prometheus")
	leasehold, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	observe := filepath.Join(t.TempDir(), "observe")
	if err := process.Build("./observe", observe); err != nil {
		t.Fatal(err)
	}
	process.UnignoreSignals()
	p := process.Start(t, exec.Command(observe, "-leasehold", leasehold, "-files", shipped))
	p.AwaitOutput("Ctrl-C ends all.")
	found := regexp.MustCompile(`Prometheus  http://(\S+)/alerts`).FindStringSubmatch(p.Stdout())
	if found == nil {
		t.Fatalf("it printed %q, want the address of Prometheus", p.Stdout())
	}
	seen := &prometheus{&testserver.Server{Addr: found[1]}}
	eventually(t, "Prometheus answers", func() bool {
		return exec.Command("curl", "-fsS", "-o", "/dev/null", "http://"+found[1]+"/-/ready").Run() == nil
	})
	for _, query := range []string{
		`sum(rate(leasing_acquisitions_succeeded_total{environment="local",provider="remote"}[30s])) > 0`,
		`sum(rate(leasehold_http_requests_total{environment="local"}[30s])) > 0`,
		`environment_provider:leasing_acquisition_duration_milliseconds:p95_rate5m{provider="remote"} > 0`,
	} {
		eventually(t, query, func() bool { return len(seen.query(t, query, time.Now())) > 0 })
	}
	p.Signal(syscall.SIGINT)
	p.CheckCode(0)
	eventually(t, "Prometheus has ended", func() bool {
		return exec.Command("curl", "-fsS", "-o", "/dev/null", "http://"+found[1]+"/-/ready").Run() != nil
	})
}

package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/leasehold/leasehold"
)

// TestClockJump: only the root's own tests can suspend a machine, so this one has
// the event.
func TestClockJump(t *testing.T) {
	var out bytes.Buffer
	tel, err := New(&Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	tel.wrap(nil, "redis").noteEvent(leasehold.ClockJumped{EventInfo: leasehold.EventInfo{Time: time.Now()}, By: 20 * time.Second})
	want := `level=WARN msg="clock jumped or machine was suspended" by=20s provider=redis`
	if !strings.Contains(out.String(), want) {
		t.Errorf("log = %q, want %q", out.String(), want)
	}
}

// TestEventsOfUnknownLeases: a lease that was acquired while nothing recorded is
// counted when it is lost, and is never counted as held.
func TestEventsOfUnknownLeases(t *testing.T) {
	tel, err := New(&Options{TracerProvider: trace.NewTracerProvider()})
	if err != nil {
		t.Fatal(err)
	}
	s := tel.wrap(nil, "redis")
	info := leasehold.EventInfo{Resource: "a", Token: 1, Time: time.Now()}
	for _, e := range []leasehold.Event{
		leasehold.Acquired{EventInfo: info, AutoRenew: true}, leasehold.Renewed{EventInfo: info},
		leasehold.Lost{EventInfo: info}, leasehold.Released{EventInfo: info},
	} {
		s.noteEvent(e)
	}
	if len(s.p.held) != 0 {
		t.Errorf("%d leases held, want none", len(s.p.held))
	}
}

// TestVersion: a test binary knows its main module.
func TestVersion(t *testing.T) {
	tel, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if tel.options.Version != moduleVersion() {
		t.Errorf("version = %q, want that of the module, %q", tel.options.Version, moduleVersion())
	}
}

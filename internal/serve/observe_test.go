package serve

import (
	"context"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/internal/observe/otlptest"
	"github.com/leasehold/leasehold/store/remote"
)

// TestLastFiguresAreExported: what was counted after the last export arrives, though
// the server has ended when the program's telemetry does.
func TestLastFiguresAreExported(t *testing.T) {
	r, err := otlptest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.HTTP)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	t.Setenv("OTEL_LOGS_EXPORTER", "none")
	p, err := observe.Start(t.Context(), observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	o.Listen, o.BlobListen, o.InMemory, o.Observe = "127.0.0.1:0", BlobOff, true, p
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	acquireOnce(t, server.APIs()[0].URL)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	total := 0.0
	for _, point := range r.Points("leasing.acquisitions.total") {
		total += point.Value
	}
	if leases := r.Points("leasehold.leases"); total != 1 || len(leases) != 1 {
		t.Errorf("received %v acquisitions, and %v as the number of leases; want 1, and a figure", total, leases)
	}
}

func acquireOnce(t *testing.T, url string) {
	t.Helper()
	s, err := remote.Open(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Acquire(context.Background(), leasehold.AcquireRequest{Resource: "a", Holder: "h"}); err != nil {
		t.Fatal(err)
	}
}

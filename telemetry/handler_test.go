package telemetry_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/slogtest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/leasehold/leasehold/internal/testbuffer"
	"github.com/leasehold/leasehold/telemetry"
)

// TestHandlerConforms: with a span in the context or not, the handler obeys slog's
// rules.
func TestHandlerConforms(t *testing.T) {
	var out *testbuffer.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out = &testbuffer.Buffer{}
		return telemetry.Handler(slog.NewJSONHandler(out, nil))
	}, func(t *testing.T) map[string]any { return decode(t, out) })
}

func decode(t *testing.T, out *testbuffer.Buffer) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return r
}

// TestHandlerAddsTheTrace outside all groups.
func TestHandlerAddsTheTrace(t *testing.T) {
	ctx, span := trace.NewTracerProvider().Tracer("x").Start(context.Background(), "y")
	ids := map[string]any{"trace_id": span.SpanContext().TraceID().String(), "span_id": span.SpanContext().SpanID().String()}
	for name, c := range map[string]struct {
		with func(*slog.Logger) *slog.Logger
		want map[string]any
	}{
		"plain": {func(l *slog.Logger) *slog.Logger { return l }, map[string]any{"k": "v"}},
		"attrs": {func(l *slog.Logger) *slog.Logger { return l.With("a", "b") }, map[string]any{"a": "b", "k": "v"}},
		"groups": {func(l *slog.Logger) *slog.Logger {
			return l.With("a", "b").WithGroup("g").With("c", "d").WithGroup("").WithGroup("h")
		}, map[string]any{"a": "b", "g": map[string]any{"c": "d", "h": map[string]any{"k": "v"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			out := &testbuffer.Buffer{}
			h := telemetry.Handler(slog.NewJSONHandler(out, nil))
			if telemetry.Handler(h) != h {
				t.Error("a handler was wrapped twice")
			}
			c.with(slog.New(h)).InfoContext(ctx, "m", "k", "v")
			for key, value := range ids {
				c.want[key] = value
			}
			got := decode(t, out)
			for _, key := range []string{"time", "level", "msg"} {
				delete(got, key)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("record -want +got:\n%s", diff)
			}
		})
	}
}

package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Handler returns a handler that adds trace_id and span_id of the context's span
// to each record, outside all groups. A handler that does so already is returned
// as it is.
func Handler(next slog.Handler) slog.Handler {
	if h, ok := next.(*handler); ok {
		return h
	}
	return &handler{next: next, base: next}
}

// handler remembers what was added since the first group: ids must be added
// before it.
type handler struct {
	next    slog.Handler // with everything added
	base    slog.Handler // with what was added before the first group
	grouped []func(slog.Handler) slog.Handler
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return h.next.Handle(ctx, r)
	}
	ids := []slog.Attr{slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String())}
	if len(h.grouped) == 0 {
		r = r.Clone()
		r.AddAttrs(ids...)
		return h.next.Handle(ctx, r)
	}
	next := h.base.WithAttrs(ids)
	for _, add := range h.grouped {
		next = add(next)
	}
	return next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(h.grouped) == 0 {
		return Handler(h.next.WithAttrs(attrs))
	}
	return h.add(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.add(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *handler) add(add func(slog.Handler) slog.Handler) slog.Handler {
	grouped := append(h.grouped[:len(h.grouped):len(h.grouped)], add)
	return &handler{next: add(h.next), base: h.base, grouped: grouped}
}

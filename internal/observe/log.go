package observe

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	otellog "go.opentelemetry.io/otel/log"

	"github.com/leasehold/leasehold/telemetry"
)

// Log is where the program's records go: to a writer, and with an exporter of logs
// to OTLP as well. Make it with NewLog. A nil one takes records and drops them.
type Log struct {
	// Level may be changed at any time. It holds for OTLP, too.
	Level *slog.LevelVar

	local  slog.Handler
	writer *logWriter
	otlp   slog.Handler // nil: none
}

// NewLog returns a log that writes to out, as JSON or as text for people. Close
// it: it writes in the background.
func NewLog(out io.Writer, json bool, level slog.Level) *Log {
	l := &Log{Level: new(slog.LevelVar), writer: newLogWriter(out)}
	l.Level.Set(level)
	o := &slog.HandlerOptions{Level: l.Level}
	l.local = telemetry.Handler(slog.NewTextHandler(l.writer, o))
	if json {
		l.local = telemetry.Handler(slog.NewJSONHandler(l.writer, o))
	}
	return l
}

// Logger returns a logger to the log, as it is now: call it after Start.
func (l *Log) Logger() *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(&handler{log: l, local: l.local, otlp: l.otlp})
}

// Close writes what has not been written.
func (l *Log) Close() error {
	if l != nil {
		l.writer.close()
	}
	return nil
}

func (l *Log) exportTo(provider otellog.LoggerProvider, version string) {
	if l != nil {
		l.otlp = otelslog.NewHandler(scope, otelslog.WithLoggerProvider(provider), otelslog.WithVersion(version))
	}
}

// telemetryFailed logs that something could not be exported. The record is not
// exported itself: it would most likely fail, too, and be logged again.
func (l *Log) telemetryFailed(problem string) {
	if l != nil {
		slog.New(l.local).Warn("telemetry could not be exported", "error", problem)
	}
}

// handler passes records on to both.
type handler struct {
	log         *Log
	local, otlp slog.Handler
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.log.Level.Level()
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if h.otlp != nil {
		_ = h.otlp.Handle(ctx, r.Clone()) // reports its failures to telemetryFailed
	}
	err := h.local.Handle(ctx, r)
	if r.Level >= slog.LevelError {
		h.log.writer.flush() // the program may be about to end
	}
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

func (h *handler) WithGroup(name string) slog.Handler {
	return h.with(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *handler) with(f func(slog.Handler) slog.Handler) slog.Handler {
	c := &handler{log: h.log, local: f(h.local)}
	if h.otlp != nil {
		c.otlp = f(h.otlp)
	}
	return c
}

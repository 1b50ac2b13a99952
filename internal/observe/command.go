package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/telemetry"
)

// commandCloseWithin is how long a command waits at its end, for an exporter that
// does not answer.
const commandCloseWithin = 2 * time.Second

// Command is the telemetry of a command that is a client of leases. A nil one does
// nothing.
type Command struct {
	program   *Program
	telemetry *telemetry.Telemetry
	span      trace.Span
}

// StartCommand starts the span of a command, below the span that TRACEPARENT names,
// if the environment names an exporter. Otherwise the Command is nil, and the
// context has the span of the environment alone.
func StartCommand(ctx context.Context, name, version string) (context.Context, *Command, error) {
	ctx = FromEnvironment(ctx)
	if !Exports() {
		return ctx, nil, nil
	}
	p, err := Start(ctx, Options{Version: version, CloseWithin: commandCloseWithin})
	if err != nil {
		return ctx, nil, err
	}
	c := &Command{program: p}
	if c.telemetry, err = p.Telemetry(); err != nil {
		return ctx, nil, err
	}
	ctx, c.span = p.tracer().Start(ctx, name)
	return ctx, c, nil
}

// Store returns the store with telemetry around it.
func (c *Command) Store(s leasehold.Store, kind string) leasehold.Store {
	if c == nil {
		return s
	}
	return c.telemetry.Store(s, kind)
}

// NewManager returns a Manager with telemetry around it and the store.
func (c *Command) NewManager(s leasehold.Store, kind string, o *leasehold.Options) (*leasehold.Manager, error) {
	if c == nil {
		return leasehold.NewManager(s, o)
	}
	return c.telemetry.NewManager(s, kind, o)
}

// End exports everything, if that can be done soon.
func (c *Command) End(exitCode int) {
	if c == nil {
		return
	}
	c.span.SetAttributes(attribute.Int("process.exit.code", exitCode))
	if exitCode != 0 {
		c.span.SetStatus(codes.Error, "")
	}
	c.span.End()
	_ = c.program.Close()
}

package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// call is one call of a tool.
type call struct {
	s       *Server
	tool    string
	op      string // in errors, as in those of the store
	ctx     context.Context
	session *session
	started time.Time
}

var operations = map[string]string{
	"lease_acquire": "acquire", "lease_renew": "renew", "lease_release": "release",
	"lease_status": "status", "lease_history": "history", "lease_break": "break",
}

// newCall makes a call that also ends when nobody waits for its answer any more.
func (s *Server) newCall(ctx context.Context, tool string) (*call, func()) {
	caller := sessionOf(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(caller.alive, func() { cancel(context.Cause(caller.alive)) })
	c := &call{s: s, tool: tool, op: operations[tool], ctx: ctx, session: caller, started: time.Now()}
	return c, func() { stop(); cancel(nil) }
}

func (c *call) caller() auth.Caller { return c.session.identity.Caller }
func (c *call) holder() string      { return c.session.identity.Holder }

// errLimit is the cause of a context whose operation took too long.
var errLimit = errors.New("the store did not answer in time")

// callStore calls a method of the store under the time limit.
func callStore[R, T any](c *call, method func(context.Context, R) (T, error), r R) (T, error) {
	return callStoreFor(c, c.ctx, 0, method, r)
}

// callStoreFor is callStore with a limit that is longer by the time that the request
// itself may spend waiting.
func callStoreFor[R, T any](c *call, parent context.Context, waiting time.Duration, method func(context.Context, R) (T, error), r R) (T, error) {
	ctx, cancel := context.WithTimeoutCause(parent, c.s.o.StoreTimeout+waiting, errLimit)
	defer cancel()
	v, err := method(ctx, r)
	if err != nil && context.Cause(ctx) == errLimit && leasehold.ReasonOf(err) == leasehold.ReasonCancelled {
		err = &leasehold.Error{Reason: leasehold.ReasonUnknown, Op: c.op, Cause: errLimit}
	}
	return v, err
}

// unsupported is the error of a store that lacks an optional power.
func (c *call) unsupported() error {
	return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: c.op}
}

// tooMany is the error of one call too many of its kind at the same time.
func (c *call) tooMany() error {
	return &leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: c.op, RetryAfter: time.Second}
}

// find returns the lease behind an id.
func (c *call) find(id leasehold.ID) (leasehold.Lease, error) {
	finder, ok := c.s.store.(leasehold.Finder)
	if !ok {
		return leasehold.Lease{}, c.unsupported()
	}
	return callStore(c, finder.Find, id)
}

// log writes a line about a lease, never with its id.
func (c *call) log(message string, l leasehold.Lease) {
	c.s.o.Logger.LogAttrs(c.ctx, slog.LevelInfo, message,
		slog.String("resource", l.Resource), slog.String("holder", l.Holder), slog.Uint64("token", l.Token),
		slog.Duration("took", time.Since(c.started)), slog.String("caller", c.caller().Name), slog.String("tool", c.tool))
}

// logRefusal writes a line about a call that got no lease, or failed.
func (c *call) logRefusal(err error) {
	level := slog.LevelInfo
	if errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, leasehold.ErrUnknown) {
		level = slog.LevelError
	}
	c.s.o.Logger.LogAttrs(c.ctx, level, "refused",
		slog.String("tool", c.tool), slog.String("code", string(leasehold.ReasonOf(err))), slog.String("holder", c.holder()),
		slog.Duration("took", time.Since(c.started)), slog.String("caller", c.caller().Name), slog.Any("error", err))
}

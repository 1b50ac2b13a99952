package api

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/leasehold/leasehold"
)

// log writes a line about the request. It has nothing of the path or the body,
// which may hold a lease id.
func (c *call) log(level slog.Level, message string, attrs ...slog.Attr) {
	c.s.o.Logger.LogAttrs(c.ctx, level, message, append([]slog.Attr{
		slog.String("request_id", c.requestID), slog.String("route", c.route()),
		slog.String("caller", c.caller.Name), slog.String("remote", c.r.RemoteAddr),
	}, attrs...)...)
}

func (c *call) route() string {
	if c.endpoint == nil {
		return NoRoute
	}
	return c.endpoint.Label()
}

func (c *call) logFailure(err error) {
	if err == nil {
		return
	}
	level := slog.LevelError
	switch {
	case c.r.Context().Err() != nil, errors.Is(err, errDraining), errors.Is(err, os.ErrDeadlineExceeded):
		level = slog.LevelDebug // the client left, was asked to, or did not read
	case errors.Is(err, leasehold.ErrUnsupported):
		level = slog.LevelDebug // nothing is broken: this store lacks it
	}
	c.log(level, "request failed", slog.String("error", err.Error()))
}

// logLease writes a line about what became of a lease, never with its id. A record
// has room for five attributes, and busy servers write one for every lease.
func (c *call) logLease(level slog.Level, message string, l leasehold.Lease) {
	if !c.s.o.Logger.Enabled(c.ctx, level) {
		return
	}
	c.s.o.Logger.LogAttrs(c.ctx, level, message,
		slog.String("resource", l.Resource), slog.String("holder", l.Holder), slog.Uint64("token", l.Token),
		slog.Duration("took", time.Since(c.started)), slog.String("caller", c.caller.Name))
}

// logConflict writes a line about an acquire that was refused because of another
// lease, or did not get it in time.
func (c *call) logConflict(r leasehold.AcquireRequest, err error) {
	conflict := errors.Is(err, leasehold.ErrHeld) || leasehold.ReasonOf(err) == leasehold.ReasonTimeout
	if !conflict || !c.s.o.Logger.Enabled(c.ctx, slog.LevelInfo) {
		return
	}
	var current leasehold.Lease
	if e := (*leasehold.Error)(nil); errors.As(err, &e) && e.Current != nil {
		current = *e.Current
	}
	c.s.o.Logger.LogAttrs(c.ctx, slog.LevelInfo, "conflict",
		slog.String("resource", nameOf(r)), slog.String("holder", r.Holder), slog.String("code", string(leasehold.ReasonOf(err))),
		slog.String("held_by", current.Holder), slog.Uint64("token", current.Token),
		slog.Duration("took", time.Since(c.started)), slog.String("caller", c.caller.Name), slog.String("request_id", c.requestID))
}

// nameOf says what a request wants. A lease of several has a name once it is granted.
func nameOf(r leasehold.AcquireRequest) string {
	switch n := len(r.Claims); n {
	case 0:
		return r.Resource
	case 1:
		return r.Claims[0].String()
	default:
		return fmt.Sprintf("%v and %d more", r.Claims[0], n-1)
	}
}

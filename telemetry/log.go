package telemetry

import (
	"context"
	"log/slog"
	"strings"

	"github.com/leasehold/leasehold"
)

// storeUnavailable is the message for a store that is down or damaged.
const storeUnavailable = "store unavailable"

// log writes a record if the logger wants it.
func (t *Telemetry) log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if t.logs(ctx, level) {
		t.logger.LogAttrs(ctx, level, message, attrs...)
	}
}

func (t *Telemetry) logs(ctx context.Context, level slog.Level) bool {
	return t.logger != nil && t.logger.Enabled(ctx, level)
}

// logCall writes about a call of the store that is no request of a Manager.
func (t *Telemetry) logCall(c *call, a *answer, r result) {
	if t.logger == nil {
		return
	}
	level, message := describe(c.method, r, a.err)
	if level == slog.LevelInfo && strings.HasPrefix(a.resource, leasehold.HealthPrefix) {
		level = slog.LevelDebug // probes come every few seconds
	}
	if !t.logs(c.ctx, level) {
		return
	}
	t.logger.LogAttrs(c.ctx, level, message, c.s.p.logAttrs(a.resource, a.holder, a.token, c.method, r, a.err)...)
}

// logAttempt writes about one request of a Manager's operation. A store that is
// down is an error, whatever becomes of the operation.
func (t *Telemetry) logAttempt(o *operation, c *call, a *answer, r result) {
	if t.logger == nil {
		return
	}
	level, message := slog.LevelDebug, "attempt"
	if leasehold.ReasonOf(a.err) == leasehold.ReasonUnavailable {
		level, message = slog.LevelError, storeUnavailable
	}
	if t.logs(c.ctx, level) {
		attrs := c.s.p.logAttrs(a.resource, a.holder, a.token, c.method, r, a.err)
		t.logger.LogAttrs(c.ctx, level, message, append(attrs, slog.Int("attempt", max(o.requests, o.Attempt)))...)
	}
}

// logOperation writes about the outcome of a Manager's operation. A failed renewal
// is left to its event, which knows what follows.
func (t *Telemetry) logOperation(o *operation, f *facts) {
	if t.logger == nil {
		return
	}
	m := methodRelease
	switch o.Kind {
	case leasehold.OperationAcquire, leasehold.OperationTryAcquire:
		m = methodAcquire
	case leasehold.OperationRenew, leasehold.OperationAutoRenewal:
		m = methodRenew
	}
	level, message := describe(m, f.result, f.err)
	switch {
	case m == methodRenew && f.result != resultSuccess:
		return
	case leasehold.ReasonOf(f.err) == leasehold.ReasonUnavailable:
		level, message = slog.LevelWarn, methodNames[m].operation+" failed" // its attempt was the error
	case m == methodAcquire && refusedForGood(f.err):
		level, message = slog.LevelError, "acquire refused: check the configuration"
	}
	if !t.logs(o, level) {
		return
	}
	attrs := o.s.p.logAttrs(f.resource, o.Holder, f.token, m, f.result, f.err)
	if f.wait >= 0 {
		attrs = append(attrs, slog.Duration("waited", f.wait))
	}
	t.logger.LogAttrs(o, level, message, append(attrs, slog.Int("retries", f.retries))...)
}

// refusedForGood reports whether another acquisition would fail in the same way.
func refusedForGood(err error) bool {
	switch leasehold.ReasonOf(err).Sentinel() {
	case leasehold.ErrInvalid, leasehold.ErrForbidden, leasehold.ErrUnsupported:
		return true
	}
	return false
}

// describe returns the level and the words for the outcome of an operation.
func describe(m method, r result, err error) (slog.Level, string) {
	if err == nil {
		switch m {
		case methodAcquire, methodWait:
			return slog.LevelInfo, "lease acquired"
		case methodRenew:
			return slog.LevelDebug, "lease renewed"
		case methodRelease:
			return slog.LevelInfo, "lease released"
		case methodBreak:
			return slog.LevelInfo, "lease broken"
		case methodTransfer:
			return slog.LevelInfo, "lease transferred"
		case methodReleaseHolder:
			return slog.LevelInfo, "leases of a holder released"
		}
		return slog.LevelDebug, methodNames[m].operation
	}
	acquires := m == methodAcquire || m == methodWait
	switch {
	case leasehold.ReasonOf(err) == leasehold.ReasonUnavailable:
		return slog.LevelError, storeUnavailable
	case r == resultConflict && acquires:
		return slog.LevelInfo, "lease held by another"
	case r == resultTimeout && acquires:
		return slog.LevelInfo, "lease not acquired in time"
	}
	return failureLevel(m, r, err), methodNames[m].operation + " failed"
}

func failureLevel(m method, r result, err error) slog.Level {
	switch reason := leasehold.ReasonOf(err); {
	case reason == "": // the store broke its contract
		return slog.LevelError
	case reason == leasehold.ReasonInvalid && m == methodSetSetting:
		return slog.LevelError // configuration
	case m == methodRenew, m == methodRelease, reason.Sentinel() == leasehold.ErrUnknown:
		return slog.LevelWarn
	case r == resultFailure:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// logEvent writes about an event of a Manager.
func (p *provider) logEvent(e leasehold.Event, l *lease) {
	if p.t.logger == nil {
		return
	}
	ctx := e.Info().Context()
	switch e := e.(type) {
	case leasehold.Acquired:
		if e.AutoRenew {
			p.logLease(ctx, slog.LevelInfo, "auto-renewal started", e.EventInfo)
		}
	case leasehold.RenewalFailed:
		p.logLease(ctx, slog.LevelWarn, "renewal failed", e.EventInfo, slog.Int("attempt", e.Attempt), slog.Bool("will_retry", e.WillRetry),
			slog.String("reason", reasonOf(e.Err)), slog.String("error", e.Err.Error()))
	case leasehold.SafetyLineNear:
		p.logLease(ctx, slog.LevelWarn, "safety line near", e.EventInfo, slog.Duration("remaining", e.Remaining))
	case leasehold.Breaking:
		p.logLease(ctx, slog.LevelWarn, "lease is being broken", e.EventInfo, slog.Duration("remaining", e.Remaining))
		p.logStop(ctx, l, e.EventInfo)
	case leasehold.Lost:
		p.logLease(ctx, slog.LevelError, "lease lost", e.EventInfo, slog.Bool("critical", true), slog.String("reason", string(e.Reason)),
			slog.Time("last_success", e.LastSuccess), slog.Int("failures", len(l.failures)))
		p.logStop(ctx, l, e.EventInfo)
	case leasehold.Released:
		p.logStop(ctx, l, e.EventInfo)
	case leasehold.ClockJumped:
		p.t.log(ctx, slog.LevelWarn, "clock jumped or machine was suspended", slog.Duration("by", e.By), slog.String("provider", p.name))
	}
}

// logStop says once that the lease is not renewed any more.
func (p *provider) logStop(ctx context.Context, l *lease, info leasehold.EventInfo) {
	if l.autoRenew {
		l.autoRenew = false
		p.logLease(ctx, slog.LevelInfo, "auto-renewal stopped", info)
	}
}

func (p *provider) logLease(ctx context.Context, level slog.Level, message string, i leasehold.EventInfo, attrs ...slog.Attr) {
	if p.t.logs(ctx, level) {
		named := p.logAttrs(i.Resource, i.Holder, i.Token, methods, results, nil)
		p.t.logger.LogAttrs(ctx, level, message, append(named, attrs...)...)
	}
}

// logAttrs names the lease and the outcome. Values that are not known are left
// out.
func (p *provider) logAttrs(resource, holder string, token uint64, m method, r result, err error) []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 12), slog.String("provider", p.name))
	if resource != "" {
		attrs = append(attrs, slog.String("resource", resource))
	}
	if holder != "" {
		attrs = append(attrs, slog.String("holder", holder))
	}
	if token != 0 {
		attrs = append(attrs, slog.Uint64("token", token))
	}
	if m < methods {
		attrs = append(attrs, slog.String("operation", methodNames[m].operation))
	}
	if r < results {
		attrs = append(attrs, slog.String("result", r.String()))
	}
	if err != nil {
		attrs = append(attrs, slog.String("reason", reasonOf(err)), slog.String("error", err.Error()))
	}
	return attrs
}

package api

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

// breakLease serves POST /v1/leases/break.
func breakLease(c *call, in wire.BreakRequest) (wire.Broken, error) {
	breaker, ok := c.s.store.(leasehold.Breaker)
	if !ok {
		return wire.Broken{}, c.unsupported()
	}
	r, err := in.Request()
	if err == nil {
		err = r.Validate()
	}
	if err != nil {
		return wire.Broken{}, err
	}
	l, err := callStore(c, breaker.Break, r)
	if err != nil {
		return wire.Broken{}, err
	}
	c.log(slog.LevelInfo, "broke a lease", slog.String("resource", l.Resource), slog.String("holder", l.Holder), slog.Uint64("token", l.Token))
	l.ID = leasehold.ID{} // an operator does not own it
	answer := wire.Broken{Lease: wire.FromLease(l)}
	if l.State == leasehold.StateBreaking {
		answer.Remaining = answer.Lease.Remaining
	}
	return answer, nil
}

// forceRelease serves POST /v1/holders/{holder}/release.
func forceRelease(c *call, in wire.ForceRequest) (wire.Forced, error) {
	if !c.caller.Has(auth.RoleOperator) && !c.caller.MayRelease(c.pathValue, in.Children) {
		return wire.Forced{}, c.forbidden("")
	}
	release, ok := c.holderRelease(in)
	if !ok {
		return wire.Forced{}, c.unsupported()
	}
	n, err := callStore(c, release, c.pathValue)
	if err != nil {
		return wire.Forced{}, err
	}
	c.log(slog.LevelInfo, "force-released a holder", slog.String("holder", c.pathValue),
		slog.Bool("children", in.Children), slog.Int("released", n))
	return wire.Forced{Released: n}, nil
}

// holderRelease is how the store ends the leases of a holder, if it can.
func (c *call) holderRelease(in wire.ForceRequest) (func(ctx context.Context, holder string) (int, error), bool) {
	if in.Children {
		s, ok := c.s.store.(leasehold.ChildReleaser)
		return func(ctx context.Context, holder string) (int, error) {
			return s.ReleaseWithChildren(ctx, holder, in.Reason)
		}, ok
	}
	s, ok := c.s.store.(leasehold.HolderReleaser)
	return func(ctx context.Context, holder string) (int, error) { return s.ReleaseHolder(ctx, holder, in.Reason) }, ok
}

// cleanup serves POST /v1/leases/cleanup.
func cleanup(c *call, _ rest.None) (wire.Cleaned, error) {
	cleaner, ok := c.s.store.(leasehold.Cleaner)
	if !ok {
		return wire.Cleaned{}, c.unsupported()
	}
	cleaned, err := callStore(c, func(ctx context.Context, _ rest.None) (leasehold.Cleaned, error) { return cleaner.Cleanup(ctx) }, rest.None{})
	if err != nil {
		return wire.Cleaned{}, err
	}
	return wire.Cleaned(cleaned), nil
}

// getLogLevel serves GET /v1/log-level.
func getLogLevel(c *call, _ rest.None) (wire.LogLevel, error) {
	if c.s.o.LogLevel == nil {
		return wire.LogLevel{}, c.unsupported()
	}
	return wire.LogLevel{Level: strings.ToLower(c.s.o.LogLevel.Level().String())}, nil
}

// setLogLevel serves PUT /v1/log-level.
func setLogLevel(c *call, in wire.LogLevel) (wire.LogLevel, error) {
	if c.s.o.LogLevel == nil {
		return wire.LogLevel{}, c.unsupported()
	}
	level, ok := logLevels[in.Level]
	if !ok {
		return wire.LogLevel{}, leasehold.Invalid("level", "wants debug, info, warn or error")
	}
	c.s.o.LogLevel.Set(min(level, slog.LevelInfo)) // so that the change itself is logged
	c.log(slog.LevelInfo, "changed the log level", slog.String("to", in.Level))
	c.s.o.LogLevel.Set(level)
	return in, nil
}

var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// listSettings serves GET /v1/config.
func listSettings(c *call, _ rest.None) (wire.Settings, error) {
	configurer, ok := c.s.store.(leasehold.Configurer)
	if !ok {
		return wire.Settings{}, c.unsupported()
	}
	all, err := readSettings(c, configurer)
	if err != nil {
		return wire.Settings{}, err
	}
	answer := wire.Settings{Settings: make([]wire.Setting, len(all))}
	for i, setting := range all {
		answer.Settings[i] = wire.FromSetting(setting)
	}
	return answer, nil
}

// setSetting serves PUT /v1/config/{key}.
func setSetting(c *call, in wire.SetRequest) (wire.Setting, error) {
	configurer, ok := c.s.store.(leasehold.Configurer)
	if !ok {
		return wire.Setting{}, c.unsupported()
	}
	if in.Value == nil {
		return wire.Setting{}, leasehold.Invalid("value", "is missing; want the setting's new value")
	}
	setting, err := callStore(c, func(ctx context.Context, key string) (leasehold.Setting, error) {
		return configurer.SetSetting(ctx, key, in.Value)
	}, c.pathValue)
	if err != nil {
		return wire.Setting{}, err
	}
	c.log(slog.LevelInfo, "changed a setting", slog.String("key", setting.Key), slog.String("value", fmt.Sprint(setting.Value)))
	return wire.FromSetting(setting), nil
}

package api

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// breakLease serves POST /v1/leases/break.
func (s *Server) breakLease(c *call, in wire.BreakRequest) (wire.Broken, error) {
	breaker, ok := s.store.(leasehold.Breaker)
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
	l, err := within(c, func(ctx context.Context) (leasehold.Lease, error) { return breaker.Break(ctx, r) })
	if err != nil {
		return wire.Broken{}, err
	}
	c.operated("broke a lease", slog.String("resource", l.Resource), slog.String("holder", l.Holder), slog.Uint64("token", l.Token))
	l.ID = leasehold.ID{} // whoever breaks a lease does not own it
	answer := wire.Broken{Lease: wire.FromLease(l)}
	if l.State == leasehold.StateBreaking {
		answer.Remaining = answer.Lease.Remaining
	}
	return answer, nil
}

// forceRelease serves POST /v1/holders/{holder}/release.
func (s *Server) forceRelease(c *call, in wire.ForceRequest) (wire.Forced, error) {
	releaser, ok := s.store.(leasehold.HolderReleaser)
	if !ok {
		return wire.Forced{}, c.unsupported()
	}
	n, err := within(c, func(ctx context.Context) (int, error) { return releaser.ReleaseHolder(ctx, c.rest, in.Reason) })
	if err != nil {
		return wire.Forced{}, err
	}
	c.operated("force-released a holder", slog.String("holder", c.rest), slog.Int("released", n))
	return wire.Forced{Released: n}, nil
}

// cleanup serves POST /v1/leases/cleanup.
func (s *Server) cleanup(c *call, _ none) (wire.Cleaned, error) {
	cleaner, ok := s.store.(leasehold.Cleaner)
	if !ok {
		return wire.Cleaned{}, c.unsupported()
	}
	cleaned, err := within(c, cleaner.Cleanup)
	if err != nil {
		return wire.Cleaned{}, err
	}
	return wire.Cleaned(cleaned), nil
}

// settings serves GET /v1/config.
func (s *Server) settings(c *call, _ none) (wire.Settings, error) {
	configurer, ok := s.store.(leasehold.Configurer)
	if !ok {
		return wire.Settings{}, c.unsupported()
	}
	all, err := within(c, configurer.Settings)
	if err != nil {
		return wire.Settings{}, err
	}
	answer := wire.Settings{Settings: make([]wire.Setting, len(all))}
	for i, setting := range all {
		answer.Settings[i] = wire.FromSetting(setting)
	}
	return answer, nil
}

// set serves PUT /v1/config/{key}.
func (s *Server) set(c *call, in wire.SetRequest) (wire.Setting, error) {
	configurer, ok := s.store.(leasehold.Configurer)
	if !ok {
		return wire.Setting{}, c.unsupported()
	}
	if in.Value == nil {
		return wire.Setting{}, invalid("value", "is missing; want the setting's new value")
	}
	setting, err := within(c, func(ctx context.Context) (leasehold.Setting, error) {
		return configurer.SetSetting(ctx, c.rest, in.Value)
	})
	if err != nil {
		return wire.Setting{}, err
	}
	c.operated("changed a setting", slog.String("key", setting.Key), slog.String("value", fmt.Sprint(setting.Value)))
	return wire.FromSetting(setting), nil
}

// operated leaves a line in the log of what an operator did.
func (c *call) operated(what string, more ...slog.Attr) {
	c.s.o.Logger.LogAttrs(c.r.Context(), slog.LevelInfo, what, c.attrs(more...)...)
}

package local

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// Settings implements leasehold.Configurer.
func (e *Engine) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	if err := e.lockReady(); err != nil {
		return nil, e.opError("settings", "", err)
	}
	config, b := e.config, e.batches.latest()
	e.mu.Unlock()
	if err := b.durable(ctx); err != nil {
		return nil, e.opError("settings", "", err)
	}
	return config.List(), nil
}

// SetSetting implements leasehold.Configurer.
func (e *Engine) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	if ctx.Err() != nil {
		return leasehold.Setting{}, e.opError("set", "", unavailable(context.Cause(ctx)))
	}
	s, b, err := e.setSetting(key, value, leasehold.WhyOf(ctx))
	if err == nil {
		err = b.durable(ctx)
	}
	return s, e.opError("set", "", err)
}

func (e *Engine) setSetting(key string, value any, why string) (leasehold.Setting, *batch, error) {
	if err := e.lockReady(); err != nil {
		return leasehold.Setting{}, nil, err
	}
	defer e.mu.Unlock()
	config, changed, before, err := e.config.With(key, value)
	if err != nil {
		return leasehold.Setting{}, nil, err
	}
	e.config = config
	e.batches.pending.Settings = append(e.batches.pending.Settings, changed)
	e.batches.pending.decided++
	record := settings.Configured(changed, before)
	record.At, record.Why = e.clock.now().WallTime(), why
	e.record(record)
	signal(e.sweepNow) // which also applies a new interval
	return changed, e.batches.pending, nil
}

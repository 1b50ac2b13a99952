package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// config is the run-time settings, decoded.
type config struct {
	settings []leasehold.Setting

	defaultTTL      time.Duration
	maxTTL          time.Duration
	maxLeases       int64 // Unlimited: any number
	maxLeasesCaller int64 // the same
	maxRenewals     int
	timeout         time.Duration
	cleanupInterval time.Duration
	autoExpire      bool
	blocking        bool
	keepHistory     bool
	historyRenewals bool
	retention       time.Duration
	historyMaxRows  int64
}

// configFrom puts stored values over the defaults. A key that this program
// does not know is left alone: a newer one wrote it.
func configFrom(stored map[string]any) (config, error) {
	var c config
	for _, s := range leasehold.DefaultSettings() {
		if v, ok := stored[s.Key]; ok {
			var err error
			if s, err = s.With(v); err != nil {
				return c, fmt.Errorf("stored setting: %w", err)
			}
		}
		c.settings = append(c.settings, s)
	}
	c.decode()
	return c, nil
}

// decode sets the fields from the settings.
func (c *config) decode() {
	integer := func(key string) int64 { return c.settings[c.index(key)].Value.(int64) }
	boolean := func(key string) bool { return c.settings[c.index(key)].Value.(bool) }
	c.defaultTTL = time.Duration(integer(leasehold.SettingDefaultTTL)) * time.Second
	c.maxTTL = time.Duration(integer(leasehold.SettingMaxTTL)) * time.Second
	c.maxLeases = integer(leasehold.SettingMaxLeases)
	c.maxLeasesCaller = integer(leasehold.SettingMaxLeasesCaller)
	c.maxRenewals = int(integer(leasehold.SettingMaxRenewals))
	c.timeout = time.Duration(integer(leasehold.SettingAcquireTimeout)) * time.Millisecond
	c.cleanupInterval = time.Duration(integer(leasehold.SettingCleanupInterval)) * time.Second
	c.autoExpire = boolean(leasehold.SettingAutoExpire)
	c.blocking = boolean(leasehold.SettingBlocking)
	c.keepHistory = boolean(leasehold.SettingKeepHistory)
	c.historyRenewals = boolean(leasehold.SettingHistoryRenewals)
	c.retention = time.Duration(integer(leasehold.SettingHistoryRetention)) * 24 * time.Hour
	c.historyMaxRows = integer(leasehold.SettingHistoryMaxRows)
}

func (c *config) index(key string) int {
	return slices.IndexFunc(c.settings, func(s leasehold.Setting) bool { return s.Key == key })
}

// fill sets the fields that the request leaves out to their defaults.
func (c *config) fill(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	if r.TTL == 0 {
		r.TTL = min(c.defaultTTL, c.maxTTL)
	}
	if r.MaxRenewals == nil {
		limit := c.maxRenewals
		r.MaxRenewals = &limit
	}
	if r.Timeout == 0 {
		r.Timeout = c.timeout
	}
	return r
}

// refuseTTL refuses a ttl that is longer than the settings allow. Existing
// leases keep theirs.
func (c *config) refuseTTL(resource string, ttl time.Duration) machine.Outcome {
	out := machine.Outcome{Row: machine.Row{Resource: resource}}
	if err, ok := leasehold.CheckTTL(ttl, c.maxTTL).(*leasehold.Error); ok {
		out.Reason, out.Field, out.Problem = err.Reason, err.Field, err.Problem
	}
	return out
}

// keeps says whether records of this kind are kept. A change of the settings
// always is, or switching the history off would go unseen.
func (c *config) keeps(kind leasehold.Kind) bool {
	switch kind {
	case leasehold.KindConfigured:
		return true
	case leasehold.KindRenewed:
		return c.keepHistory && c.historyRenewals
	}
	return c.keepHistory
}

// Settings implements leasehold.Configurer.
func (e *Engine) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	if err := e.lockReady(); err != nil {
		return nil, e.opError("settings", "", err)
	}
	settings, b := slices.Clone(e.config.settings), e.batches.latest()
	e.mu.Unlock()
	if err := b.durable(ctx); err != nil {
		return nil, e.opError("settings", "", err)
	}
	return settings, nil
}

// SetSetting implements leasehold.Configurer.
func (e *Engine) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	if ctx.Err() != nil {
		return leasehold.Setting{}, e.opError("set", "", unavailable(context.Cause(ctx)))
	}
	s, b, err := e.setSetting(key, value)
	if err == nil {
		err = b.durable(ctx)
	}
	return s, e.opError("set", "", err)
}

func (e *Engine) setSetting(key string, value any) (leasehold.Setting, *batch, error) {
	if err := e.lockReady(); err != nil {
		return leasehold.Setting{}, nil, err
	}
	defer e.mu.Unlock()
	i := e.config.index(key)
	if i < 0 {
		return leasehold.Setting{}, nil, leasehold.UnknownSetting(key)
	}
	old := e.config.settings[i]
	s, err := old.With(value)
	if err != nil {
		return leasehold.Setting{}, nil, err
	}
	e.config.settings = slices.Clone(e.config.settings) // an earlier Settings may still read it
	e.config.settings[i] = s
	e.config.decode()
	e.batches.pending.Settings = append(e.batches.pending.Settings, s)
	e.batches.pending.decided++
	e.record(leasehold.Record{
		At: e.clock.now().WallTime(), Kind: leasehold.KindConfigured,
		Details: map[string]string{"key": key, "value": fmt.Sprint(s.Value), "before": fmt.Sprint(old.Value)},
	})
	signal(e.sweepNow) // which also applies a new interval
	return s, e.batches.pending, nil
}

// Package settings is the run-time settings, decoded: the engine and the
// networked stores steer by the same rules.
package settings

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Values is the value of every setting. It never changes once made, so it may be
// shared and kept.
type Values struct {
	DefaultTTL      time.Duration
	MaxTTL          time.Duration
	MaxLeases       int64 // leasehold.Unlimited: any number
	MaxLeasesCaller int64 // the same
	MaxRenewals     int
	Timeout         time.Duration
	CleanupInterval time.Duration
	AutoExpire      bool
	Blocking        bool
	KeepHistory     bool
	HistoryRenewals bool
	Retention       time.Duration
	HistoryMaxRows  int64

	list []leasehold.Setting
}

var defaults = decode(leasehold.DefaultSettings())

// Defaults returns the values of a store in which nothing was set.
func Defaults() *Values { return defaults }

// From puts stored values over the defaults. A key that this program does not
// know is left alone: a newer one wrote it.
func From(stored map[string]any) (*Values, error) {
	list := leasehold.DefaultSettings()
	for i, s := range list {
		if value, ok := stored[s.Key]; ok {
			var err error
			if list[i], err = s.With(value); err != nil {
				return nil, fmt.Errorf("stored setting: %w", err)
			}
		}
	}
	return decode(list), nil
}

// decode makes values of a list, which becomes theirs.
func decode(list []leasehold.Setting) *Values {
	values := map[string]any{}
	for _, s := range list {
		values[s.Key] = s.Value
	}
	integer := func(key string) int64 { return values[key].(int64) }
	boolean := func(key string) bool { return values[key].(bool) }
	return &Values{
		DefaultTTL:      time.Duration(integer(leasehold.SettingDefaultTTL)) * time.Second,
		MaxTTL:          time.Duration(integer(leasehold.SettingMaxTTL)) * time.Second,
		MaxLeases:       integer(leasehold.SettingMaxLeases),
		MaxLeasesCaller: integer(leasehold.SettingMaxLeasesCaller),
		MaxRenewals:     int(integer(leasehold.SettingMaxRenewals)),
		Timeout:         time.Duration(integer(leasehold.SettingAcquireTimeout)) * time.Millisecond,
		CleanupInterval: time.Duration(integer(leasehold.SettingCleanupInterval)) * time.Second,
		AutoExpire:      boolean(leasehold.SettingAutoExpire),
		Blocking:        boolean(leasehold.SettingBlocking),
		KeepHistory:     boolean(leasehold.SettingKeepHistory),
		HistoryRenewals: boolean(leasehold.SettingHistoryRenewals),
		Retention:       time.Duration(integer(leasehold.SettingHistoryRetention)) * 24 * time.Hour,
		HistoryMaxRows:  integer(leasehold.SettingHistoryMaxRows),
		list:            list,
	}
}

// List returns every setting, by key. The slice is the caller's own.
func (v *Values) List() []leasehold.Setting { return slices.Clone(v.list) }

// With returns the values with one of them set, and that setting after and
// before. An unknown key or a value that is not allowed is ErrInvalid.
func (v *Values) With(key string, value any) (next *Values, changed, before leasehold.Setting, err error) {
	i := slices.IndexFunc(v.list, func(s leasehold.Setting) bool { return s.Key == key })
	if i < 0 {
		return nil, changed, before, leasehold.UnknownSetting(key)
	}
	before = v.list[i]
	if changed, err = before.With(value); err != nil {
		return nil, leasehold.Setting{}, before, err
	}
	list := v.List()
	list[i] = changed
	return decode(list), changed, before, nil
}

// Configured is the record of a change, without its time.
func Configured(changed, before leasehold.Setting) leasehold.Record {
	return leasehold.Record{
		Kind: leasehold.KindConfigured,
		Details: map[string]string{
			"key": changed.Key, "value": fmt.Sprint(changed.Value), "before": fmt.Sprint(before.Value),
		},
	}
}

// Fill sets the fields that the request leaves out to their defaults.
func (v *Values) Fill(r leasehold.AcquireRequest) leasehold.AcquireRequest {
	if r.TTL == 0 {
		r.TTL = min(v.DefaultTTL, v.MaxTTL)
	}
	if r.MaxRenewals == nil {
		limit := v.MaxRenewals
		r.MaxRenewals = &limit
	}
	if r.Timeout == 0 {
		r.Timeout = v.Timeout
	}
	return r
}

// RefuseTTL refuses a ttl that is longer than the settings allow; the outcome's
// Reason is empty for one that is not. Existing leases keep theirs.
func (v *Values) RefuseTTL(resource string, ttl time.Duration) machine.Outcome {
	out := machine.Outcome{Row: machine.Row{Resource: resource}}
	if err, ok := leasehold.CheckTTL(ttl, v.MaxTTL).(*leasehold.Error); ok {
		out.Reason, out.Field, out.Problem = err.Reason, err.Field, err.Problem
	}
	return out
}

// Keeps says whether records of this kind are kept. A change of the settings
// always is, or switching the history off would go unseen.
func (v *Values) Keeps(kind leasehold.Kind) bool {
	switch kind {
	case leasehold.KindConfigured, leasehold.KindPurged: // they say what records are missing
		return true
	case leasehold.KindRenewed:
		return v.KeepHistory && v.HistoryRenewals
	}
	return v.KeepHistory
}

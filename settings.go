package leasehold

import (
	"math"
	"reflect"
	"time"
)

// Setting is one run-time setting: what it means, what it may be, what it is.
type Setting struct {
	Key             string
	Value           any // int64 or bool
	Default         any // of the same type
	Min, Max        int64
	Description     string
	RequiresRestart bool
}

// Type returns "integer" or "boolean".
func (s Setting) Type() string {
	if _, ok := s.Default.(bool); ok {
		return "boolean"
	}
	return "integer"
}

// The keys of the run-time settings.
const (
	SettingDefaultTTL       = "default_ttl_seconds"
	SettingMaxTTL           = "max_ttl_seconds"
	SettingMaxLeases        = "max_leases"
	SettingMaxLeasesCaller  = "max_leases_per_caller"
	SettingMaxRenewals      = "max_renewals"
	SettingAcquireTimeout   = "acquisition_timeout_ms"
	SettingCleanupInterval  = "cleanup_interval_seconds"
	SettingAutoExpire       = "auto_expire_enabled"
	SettingBlocking         = "blocking_mode_enabled"
	SettingKeepHistory      = "keep_history"
	SettingHistoryRenewals  = "history_renewals"
	SettingHistoryRetention = "history_retention_days"
	SettingHistoryMaxRows   = "history_max_rows"
)

// DefaultMaxTTL is the longest ttl that a store accepts unless the setting
// max_ttl_seconds says otherwise.
const DefaultMaxTTL = 7 * 24 * time.Hour

// DefaultSettings returns every setting at its default, ordered by key.
func DefaultSettings() []Setting {
	settings := []Setting{
		{Key: SettingAcquireTimeout, Default: int64(30_000), Min: 0, Max: MaxTimeout.Milliseconds(),
			Description: "how long a wait lasts when the request does not say; 0 does not wait"},
		{Key: SettingAutoExpire, Default: true,
			Description: "whether expiries are written down as they fall due; expiry itself never depends on it"},
		{Key: SettingBlocking, Default: true,
			Description: "whether requests may wait in a queue"},
		{Key: SettingCleanupInterval, Default: int64(300), Min: 1, Max: 86_400,
			Description: "how often the background sweep tidies"},
		{Key: SettingDefaultTTL, Default: int64(300), Min: int64(MinTTL.Seconds()), Max: int64(MaxTTL.Seconds()),
			Description: "the ttl of a lease when the request does not say; max_ttl_seconds, if that is less"},
		{Key: SettingHistoryMaxRows, Default: int64(1_000_000), Min: 0, Max: 1_000_000_000,
			Description: "how many history records are kept; the oldest go first"},
		{Key: SettingHistoryRenewals, Default: true,
			Description: "whether renewals leave history records"},
		{Key: SettingHistoryRetention, Default: int64(30), Min: 0, Max: 36_500,
			Description: "how many days history records are kept"},
		{Key: SettingKeepHistory, Default: true,
			Description: "whether history records are kept at all"},
		{Key: SettingMaxLeases, Default: int64(1_000_000), Min: Unlimited, Max: 1_000_000_000,
			Description: "how many leases may be live; -1 is any number"},
		{Key: SettingMaxLeasesCaller, Default: int64(Unlimited), Min: Unlimited, Max: 1_000_000_000,
			Description: "how many leases may be live of one token, or of the open listener, blob leases not counted; -1 is any number"},
		{Key: SettingMaxRenewals, Default: int64(Unlimited), Min: Unlimited, Max: MaxMaxRenewals,
			Description: "the renewal limit of a lease when the request does not say; -1 is none"},
		{Key: SettingMaxTTL, Default: int64(DefaultMaxTTL.Seconds()), Min: int64(MinTTL.Seconds()), Max: int64(MaxTTL.Seconds()),
			Description: "the longest ttl that a request may ask for; one without an end is not meant"},
	}
	for i := range settings {
		settings[i].Value = settings[i].Default
	}
	return settings
}

// With returns the setting with another value, or ErrInvalid. Any integer type
// will do, and so will a float64 without a fraction, as JSON numbers come.
func (s Setting) With(value any) (Setting, error) {
	if _, ok := s.Default.(bool); ok {
		b, ok := value.(bool)
		if !ok {
			return s, Invalid(s.Key, "wants true or false")
		}
		s.Value = b
		return s, nil
	}
	n, ok := wholeNumber(value)
	if !ok {
		return s, Invalid(s.Key, "wants a whole number from %d to %d", s.Min, s.Max)
	}
	if n < s.Min || n > s.Max {
		return s, Invalid(s.Key, "is %d; want %d to %d", n, s.Min, s.Max)
	}
	s.Value = n
	return s, nil
}

func wholeNumber(value any) (int64, bool) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), v.Uint() <= math.MaxInt64
	case v.CanFloat():
		f := v.Float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	return 0, false
}

// UnknownSetting is the error for a key that is no setting.
func UnknownSetting(key string) error {
	return Invalid("key", "%.64q is no setting; Settings lists them", key)
}

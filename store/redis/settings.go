package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// Settings implements leasehold.Configurer.
func (s *Store) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	stored, err := s.loadSettings(ctx)
	if err != nil {
		return nil, s.readFailure("settings", "", err)
	}
	settings := leasehold.DefaultSettings()
	for i, setting := range settings {
		if text, ok := stored[setting.Key]; ok {
			settings[i] = withStored(setting, text)
		}
	}
	return settings, nil
}

func (s *Store) loadSettings(ctx context.Context) (map[string]string, error) {
	return await(ctx, s, func(ctx context.Context) (map[string]string, error) {
		return s.client.HGetAll(ctx, s.keys.settings).Result()
	}, nil)
}

// withStored is the setting with its stored value; one that it may not have, by
// whatever hand, is its default.
func withStored(setting leasehold.Setting, text string) leasehold.Setting {
	var value any = text // which With refuses
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		value = n
	}
	if text == "true" || text == "false" {
		value = text == "true"
	}
	changed, err := setting.With(value)
	if err != nil {
		return setting
	}
	return changed
}

// SetSetting implements leasehold.Configurer.
func (s *Store) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	for _, setting := range leasehold.DefaultSettings() {
		if setting.Key != key {
			continue
		}
		changed, err := setting.With(value)
		if err != nil {
			return leasehold.Setting{}, opError("settings", "", err)
		}
		return changed, s.storeSetting(ctx, changed)
	}
	return leasehold.Setting{}, opError("settings", "", leasehold.UnknownSetting(key))
}

func (s *Store) storeSetting(ctx context.Context, setting leasehold.Setting) error {
	text, fallback := fmt.Sprint(setting.Value), fmt.Sprint(setting.Default)
	var err error
	if s.together {
		_, err = s.runIndex(ctx, settingScript, setting.Key, text, fallback, leasehold.WhyOf(ctx))
	} else {
		_, err = await(ctx, s, func(ctx context.Context) (int64, error) {
			return s.client.HSet(ctx, s.keys.settings, setting.Key, text).Result()
		}, nil)
	}
	if err != nil {
		return s.failure("settings", "", err)
	}
	s.sweeper.EndsIn(time.Millisecond) // a setting may concern the sweep
	return nil
}

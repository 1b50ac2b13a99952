package cas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// decoded is the last text of the settings that was decoded.
type decoded struct {
	text   string
	values *settings.Values
}

var errSettings = errors.New("the stored settings cannot be read")

// values decodes the settings; nil of a backend that keeps none.
func (s *Store) values(text string) (*settings.Values, error) {
	if s.config == nil {
		return nil, nil
	}
	if last := s.decoded.Load(); last != nil && last.text == text {
		return last.values, nil
	}
	stored, err := decodeSettings(text)
	if err != nil {
		return nil, err
	}
	values, err := settings.From(stored)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errSettings, err)
	}
	s.decoded.Store(&decoded{text, values})
	return values, nil
}

// decodeSettings reads the text of the settings: a JSON object of those that
// were ever set.
func decodeSettings(text string) (map[string]any, error) {
	stored := map[string]any{}
	if text == "" {
		return stored, nil
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, fmt.Errorf("%w: %v", errSettings, err)
	}
	return stored, nil
}

// Settings implements leasehold.Configurer.
func (s *Store) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	values, _, err := s.readSettings(ctx, "settings")
	if err != nil {
		return nil, err
	}
	return values.List(), nil
}

// readSettings reads the present settings.
func (s *Store) readSettings(ctx context.Context, op string) (values *settings.Values, text string, err error) {
	if s.config == nil {
		return nil, "", s.failures.New(op, "", leasehold.ReasonUnsupported, nil)
	}
	if err := s.calls.Start(op, ""); err != nil {
		return nil, "", err
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	text, _, err = s.config.LoadSettings(ctx)
	if err == nil {
		values, err = s.values(text)
	}
	if err != nil {
		return nil, "", s.failures.Read(ctx, op, "", err)
	}
	return values, text, nil
}

// SetSetting implements leasehold.Configurer.
func (s *Store) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	if s.config == nil {
		return leasehold.Setting{}, s.failures.New("set", "", leasehold.ReasonUnsupported, nil)
	}
	if err := s.calls.Start("set", ""); err != nil {
		return leasehold.Setting{}, err
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	for n := 0; ; n++ {
		changed, err := s.setOnce(ctx, key, value)
		if err == nil {
			s.sweeper.EndsIn(0) // a setting may concern the sweep
			s.watches.wake()
		}
		if !errors.Is(err, ErrRaced) {
			return changed, err
		}
		if !sleep.For(ctx, backoff(n)) {
			return leasehold.Setting{}, s.failures.New("set", "", leasehold.ReasonUnavailable, errContention)
		}
	}
}

// setOnce reads the settings and writes them with one changed.
func (s *Store) setOnce(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	old, now, err := s.config.LoadSettings(ctx)
	if err != nil {
		return leasehold.Setting{}, s.failures.Read(ctx, "set", "", err)
	}
	text, r, changed, err := s.changed(old, key, value)
	if err != nil {
		return leasehold.Setting{}, s.failures.Invalid("set", "", err)
	}
	r.At, r.Why = instant(now).WallTime(), leasehold.WhyOf(ctx)
	err = s.config.SwapSettings(ctx, old, text, Record{Record: r, Kept: true})
	switch {
	case err == nil:
		return changed, nil
	case errors.Is(err, ErrRaced):
		return leasehold.Setting{}, err
	}
	return leasehold.Setting{}, s.failures.Complete("set", "", err, true)
}

// changed is the text with one setting changed, and the record of it. Keys that
// this program does not know stay.
func (s *Store) changed(old, key string, value any) (text string, r leasehold.Record, after leasehold.Setting, err error) {
	values, err := s.values(old)
	if err != nil {
		return "", r, after, s.failures.New("set", "", leasehold.ReasonUnavailable, err)
	}
	_, after, before, err := values.With(key, value)
	if err != nil {
		return "", r, leasehold.Setting{}, err
	}
	stored, err := decodeSettings(old)
	if err != nil {
		return "", r, leasehold.Setting{}, err
	}
	stored[key] = after.Value
	encoded, err := json.Marshal(stored)
	return string(encoded), settings.Configured(after, before), after, err
}

// filled is the request with its defaults, or why the settings refuse it.
func (s *Store) filled(f found, r leasehold.AcquireRequest) (leasehold.AcquireRequest, machine.Outcome) {
	if f.settings == nil {
		return r, machine.Outcome{}
	}
	if r.TTL == 0 {
		r = f.settings.Fill(r)
		r.TTL = min(max(r.TTL, s.traits.MinTTL), s.traits.MaxTTL)
		return r, machine.Outcome{}
	}
	r = f.settings.Fill(r)
	return r, refuseTTL(f, r.TTL)
}

// refuseTTL refuses a ttl that is longer than the settings allow.
func refuseTTL(f found, ttl time.Duration) machine.Outcome {
	if f.settings == nil || ttl == 0 {
		return machine.Outcome{}
	}
	return f.settings.RefuseTTL(f.row.Resource, ttl)
}

// prepareWait completes a request to wait by the settings.
func (s *Store) prepareWait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.AcquireRequest, error) {
	if s.config == nil {
		return r, nil
	}
	values, _, err := s.readSettings(ctx, "acquire")
	if err != nil {
		return r, err
	}
	if !values.Blocking {
		return r, s.failures.New("acquire", r.Resource, leasehold.ReasonBlockingDisabled, nil)
	}
	if r.Timeout == 0 {
		r.Timeout = values.Timeout
	}
	return r, nil
}

package cas_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// configured is a service with everything that a backend can have.
type configured struct {
	keeping
	config *configuration
}

// configuration is the settings of a service.
type configuration struct {
	text  string
	fault func(old, text string, swap func() error) error // nil: none
	force func(swap func() error) error                   // of SwapHolder, the same
	count func() error
}

func newConfigured() configured {
	return configured{keeping{finding{service: newService()}}, &configuration{}}
}

func (s configured) Load(ctx context.Context, resource string) (cas.Item, error) {
	item, err := s.keeping.Load(ctx, resource)
	s.mu.Lock()
	defer s.mu.Unlock()
	item.Settings = s.config.text
	return item, err
}

func (s configured) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	s.mu.Lock()
	stands := s.config.text == w.Settings
	s.mu.Unlock()
	if !stands { // nothing in these tests changes it from here on
		return cas.Item{}, cas.ErrRaced
	}
	item, err := s.keeping.Swap(ctx, v, w)
	item.Settings = w.Settings
	return item, err
}

func (s configured) LoadSettings(context.Context) (string, time.Time, error) {
	if err := s.loadFault("settings"); err != nil {
		return "", time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config.text, s.now(), nil
}

func (s configured) SwapSettings(_ context.Context, old, text string, r cas.Record) error {
	swap := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.config.text != old {
			return cas.ErrRaced
		}
		s.config.text = text
		s.add(r)
		return nil
	}
	if s.config.fault != nil {
		return s.config.fault(old, text, swap)
	}
	return swap()
}

func (s configured) Count(_ context.Context, caller string, _ int64) (live, callers int64, err error) {
	if s.config.count != nil {
		if err := s.config.count(); err != nil {
			return 0, 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UnixNano()
	for _, item := range s.items {
		if item.Row.State.Locked() && int64(item.Row.Ends) > now {
			live++
			if item.Row.Caller == caller {
				callers++
			}
		}
	}
	return live, callers, nil
}

func (s configured) LoadHolder(_ context.Context, holder string) (items []cas.Item, err error) {
	if err := s.loadFault("holder"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofHolder(holder), nil
}

func (s configured) ofHolder(holder string) (items []cas.Item) {
	for name, item := range s.items {
		if item.Row.Holder == holder && item.Row.State.Locked() {
			item = s.item(name)
			item.Settings = s.config.text
			items = append(items, item)
		}
	}
	return items
}

func (s configured) SwapHolder(_ context.Context, holder string, writes []cas.VersionedWrite) error {
	swap := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.ofHolder(holder)) != len(writes) {
			return cas.ErrRaced
		}
		for _, w := range writes {
			if s.items[w.Row.Resource].Version != w.Version {
				return fmt.Errorf("force: %w", cas.ErrRaced)
			}
		}
		for _, w := range writes {
			if _, err := s.swapLocked(w.Version, w.Write); err != nil {
				return err
			}
		}
		return nil
	}
	if s.config.force != nil {
		return s.config.force(swap)
	}
	return swap()
}

func (s configured) Due(_ context.Context, n int) (items []cas.Item, next time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	next = -1
	for name, item := range s.items {
		if !item.Row.State.Locked() {
			continue
		}
		left := time.Duration(int64(item.Row.Ends) - now.UnixNano())
		switch {
		case left <= 0 && len(items) < n:
			item = s.item(name)
			item.Settings = s.config.text
			items = append(items, item)
		case left > 0 && (next < 0 || left < next):
			next = left
		}
	}
	return items, next, nil
}

func (s configured) Purge(_ context.Context, before time.Time, keep int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	point := func(keep int64) int {
		n := max(0, len(s.records)-int(keep))
		for n < len(s.records) && s.records[n].At.Before(before) {
			n++
		}
		return n
	}
	n := point(keep)
	if n > 0 && keep > 0 {
		n = point(keep - 1)
	}
	if n == 0 || n == 1 && s.records[0].Kind == leasehold.KindPurged {
		return 0, nil
	}
	r := cas.Purged(n, s.records[n-1].Seq)
	r.At = s.now()
	s.records = slices.Clone(s.records[n:])
	s.add(cas.Record{Record: r, Kept: true})
	return n, nil
}

func (s configured) Last(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq, nil
}

func (s configured) After(_ context.Context, seq uint64, n int) ([]leasehold.Record, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) == 0 {
		return nil, 0, nil
	}
	var after []leasehold.Record
	for _, r := range s.notes {
		if r.Seq > seq && len(after) < n {
			after = append(after, r)
		}
	}
	return after, s.notes[0].Seq, nil
}

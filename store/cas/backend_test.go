package cas_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// service is a compare-and-swap service in memory. Its clock is time.Now, cut to
// the grain.
type service struct {
	mu      sync.Mutex
	items   map[string]cas.Item
	version int
	seq     uint64
	records []leasehold.Record // those that are kept
	notes   []leasehold.Record // all of them, for watchers
	grain   time.Duration
	swaps   int
	loads   int
	finds   int
	closed  bool

	// The faults. Each is called without the lock.
	beforeSwap func(n int, w cas.Write) error // an error is the answer, and nothing is written
	afterSwap  func(n int, w cas.Write) error // an error is the answer, though it was written
	load       func(resource string) error
	stale      func() (cas.Item, bool) // what a read answers instead of the present item
	careless   bool                    // a service that writes whatever the version
	find       func() error
	append     func() error
	shift      time.Duration // added to its clock
}

func newService() *service { return &service{items: map[string]cas.Item{}} }

func (s *service) now() time.Time {
	now := time.Now().Add(s.shift)
	if s.grain > 0 {
		now = now.Truncate(s.grain)
	}
	return now
}

func (s *service) Traits() cas.Traits { return cas.Traits{Kind: "test", Grain: s.grain} }

func (s *service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *service) Load(ctx context.Context, resource string) (cas.Item, error) {
	if err := s.loadFault(resource); err != nil {
		return cas.Item{}, err
	}
	if err := ctx.Err(); err != nil {
		return cas.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale != nil {
		if item, ok := s.stale(); ok {
			item.Now = s.now()
			return item, nil
		}
	}
	return s.item(resource), nil
}

// counted returns how many reads, queries and writes there were since the last
// call.
func (s *service) counted() (loads, finds, swaps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loads, finds, swaps = s.loads, s.finds, s.swaps
	s.loads, s.finds, s.swaps = 0, 0, 0
	return loads, finds, swaps
}

func (s *service) loadFault(resource string) error {
	s.mu.Lock()
	s.loads++
	load := s.load
	s.mu.Unlock()
	if load == nil {
		return nil
	}
	return load(resource)
}

// setLoad sets the fault of reads while operations run.
func (s *service) setLoad(load func(string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load = load
}

func (s *service) item(resource string) cas.Item {
	item := s.items[resource]
	item.Now = s.now()
	return item
}

func (s *service) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	s.mu.Lock()
	s.swaps++
	n := s.swaps
	s.mu.Unlock()
	if s.beforeSwap != nil {
		if err := s.beforeSwap(n, w); err != nil {
			return cas.Item{}, err
		}
	}
	item, err := s.swap(v, w)
	if err == nil && s.afterSwap != nil {
		err = s.afterSwap(n, w)
	}
	return item, err
}

func (s *service) swap(v cas.Version, w cas.Write) (cas.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.swapLocked(v, w)
}

func (s *service) swapLocked(v cas.Version, w cas.Write) (cas.Item, error) {
	if !s.careless && s.items[w.Row.Resource].Version != v {
		return cas.Item{}, fmt.Errorf("swap: %w", cas.ErrRaced)
	}
	s.version++
	kept := w.Row
	kept.Metadata = maps.Clone(w.Row.Metadata)
	s.items[w.Row.Resource] = cas.Item{Row: kept, Marks: w.Marks, Version: cas.Version(strconv.Itoa(s.version))}
	for _, r := range w.Records {
		s.add(r)
	}
	item := s.item(w.Row.Resource)
	item.Row = w.Row // as it was sent
	return item, nil
}

func (s *service) add(r cas.Record) {
	s.seq++
	r.Seq = s.seq
	if r.Kept {
		s.records = append(s.records, r.Record)
	}
	s.notes = append(s.notes, r.Record)
}

func (s *service) Scan(_ context.Context, prefix, after string, n int) ([]cas.Item, error) {
	if err := s.loadFault("scan"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []cas.Item
	for _, name := range slices.Sorted(maps.Keys(s.items)) {
		if strings.HasPrefix(name, prefix) && name > after && len(items) < n {
			items = append(items, s.item(name))
		}
	}
	return items, nil
}

// finding is a service that finds ids, keeps a history and sends notices.
type finding struct {
	*service
	notices chan string
}

func (s finding) Find(_ context.Context, id leasehold.ID) ([]cas.Item, error) {
	if s.find != nil {
		if err := s.find(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finds++
	var items []cas.Item
	for name, item := range s.items {
		if item.Row.ID == id || item.Row.Former == id {
			items = append(items, s.item(name))
		}
	}
	return items, nil
}

// keeping is finding with a history.
type keeping struct{ finding }

func (s keeping) Append(_ context.Context, r cas.Record) error {
	if s.append != nil {
		return s.append()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(r)
	return nil
}

func (s keeping) History(_ context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if s.append != nil {
		return leasehold.HistoryPage{}, s.append()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	below := s.seq + 1
	if r.Cursor != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(r.Cursor, "h"), 10, 32)
		if err != nil || r.Cursor != fmt.Sprint("h", n) {
			return leasehold.HistoryPage{}, leasehold.Invalid("cursor", "is none")
		}
		below = n
	}
	limit := r.Limit
	if limit == 0 {
		limit = leasehold.DefaultPage
	}
	var page leasehold.HistoryPage
	for _, rec := range slices.Backward(s.records) {
		switch {
		case rec.Seq >= below,
			r.Resource != "" && rec.Resource != r.Resource, !strings.HasPrefix(rec.Resource, r.Prefix),
			r.Holder != "" && rec.Holder != r.Holder, r.Kind != "" && rec.Kind != r.Kind,
			!r.Since.IsZero() && rec.At.Before(r.Since), !r.Until.IsZero() && !rec.At.Before(r.Until):
			continue
		}
		if len(page.Records) == limit {
			page.Cursor = fmt.Sprint("h", page.Records[limit-1].Seq)
			break
		}
		page.Records = append(page.Records, rec)
	}
	return page, nil
}

// notifying is finding with notices.
type notifying struct{ finding }

func (s notifying) Notify(ctx context.Context, ready func(), freed func(string)) error {
	ready()
	for {
		select {
		case name := <-s.notices:
			if name == "" {
				return errors.New("connection lost")
			}
			freed(name)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

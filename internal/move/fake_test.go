package move_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
)

// fake is a move.Store in memory, with the few operations that clients need here.
type fake struct {
	name string

	mu       sync.Mutex
	id       string
	state    move.State
	peer     string
	until    time.Time
	rows     map[string]machine.Row // Ends in Unix nanoseconds
	token    uint64
	settings map[string]any
	history  int
	noNotes  bool
}

func newFake(name string) *fake {
	return &fake{name: name, rows: map[string]machine.Row{}, settings: map[string]any{}}
}

func now() machine.Instant {
	t := time.Now()
	return machine.Instant{Clock: machine.Time(t.UnixNano()), Wall: t.UnixMilli()}
}

// mark is with f.mu held.
func (f *fake) mark() move.Mark {
	m := move.Mark{ID: f.id, State: f.state, Peer: f.peer}
	if m.State == move.Leaving {
		if m.Lasts = time.Until(f.until); m.Lasts <= 0 {
			m.State, m.Lasts = move.Open, 0
		}
	}
	return m
}

func (f *fake) MoveMark(context.Context) (move.Mark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mark(), nil
}

func (f *fake) SwapMoveMark(_ context.Context, old, next move.Mark) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.mark().Is(old) {
		return move.ErrMarkChanged
	}
	if why := f.inUse(); next.State == move.Arriving && old.State == move.Open && why != "" {
		return &move.InUseError{Why: why}
	}
	if next.State == move.Moved {
		f.rows = map[string]machine.Row{}
	}
	f.id, f.state, f.peer, f.until = next.ID, next.State, next.Peer, time.Now().Add(next.Lasts)
	return nil
}

func (f *fake) inUse() string {
	switch {
	case f.state == move.Moved:
	case len(f.rows) > 0:
		return fmt.Sprintf("it has %d leases", len(f.rows))
	case f.token > 0:
		return "it has given out tokens"
	case f.history > 0:
		return "it has a history"
	}
	return ""
}

func (f *fake) InUse(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inUse(), nil
}

func (f *fake) KeepsNotes() bool { return !f.noNotes }

func (f *fake) MoveSummary(context.Context) (move.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := move.Summary{Token: f.token, Settings: maps.Clone(f.settings)}
	for _, row := range f.rows {
		if row.At(now()).Notes != nil {
			s.Notes++
		}
		if row.Remaining(now()) == 0 {
			s.Ended++
		} else {
			s.Live++
		}
	}
	return s, nil
}

func (f *fake) Export(_ context.Context, after string, n int) (leases []move.Lease, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.rows)) {
		if name > after && len(leases) < n {
			row := f.rows[name].At(now())
			leases = append(leases, move.Lease{Row: row, Remaining: row.Remaining(now())})
		}
	}
	return leases, nil
}

// arriving refuses what is not of the target's own move; f.mu is held.
func (f *fake) arriving(m move.Mark) error {
	if m.State != move.Arriving || !f.mark().Is(m) {
		return move.ErrMarkChanged
	}
	return nil
}

func (f *fake) Clear(_ context.Context, m move.Mark) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.arriving(m); err != nil {
		return false, err
	}
	for name := range f.rows {
		delete(f.rows, name)
		break
	}
	return len(f.rows) > 0, nil
}

func (f *fake) Import(_ context.Context, m move.Mark, leases []move.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.arriving(m); err != nil {
		return err
	}
	for _, l := range leases {
		row := l.Row
		row.Ends = now().Clock + machine.Time(l.Remaining)
		if l.Remaining == leasehold.Infinite {
			row.Ends = machine.Never
		}
		f.rows[row.Resource] = row
	}
	return nil
}

func (f *fake) ImportBase(_ context.Context, m move.Mark, token uint64, settings map[string]any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.arriving(m); err != nil {
		return err
	}
	f.token, f.settings = max(f.token, token), maps.Clone(settings)
	return nil
}

// The operations. Each is one step; closed says that the mark refuses it.

var errClosed = errors.New("closed")

func (f *fake) step(change bool, body func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mark().Refusal(change); err != nil {
		return errClosed
	}
	return body()
}

// grants says whether a client could get a lease here.
func (f *fake) grants() bool { return f.step(true, func() error { return nil }) == nil }

func (f *fake) acquire(resource, holder string, ttl time.Duration) (row machine.Row, err error) {
	err = f.step(true, func() error {
		if f.rows[resource].Remaining(now()) != 0 {
			return leasehold.ErrHeld
		}
		f.token++
		row = machine.Row{
			Resource: resource, Holder: holder, ID: leasehold.NewID(), Token: f.token, State: leasehold.StateActive,
			TTL: ttl, Ends: now().Clock + machine.Time(ttl), Metadata: map[string]string{"of": holder},
		}
		if ttl == leasehold.Infinite {
			row.Ends = machine.Never
		}
		f.rows[resource] = row
		return nil
	})
	return row, err
}

func (f *fake) renew(held machine.Row) (row machine.Row, err error) {
	err = f.step(true, func() error {
		row = f.rows[held.Resource]
		if row.ID != held.ID || row.Remaining(now()) == 0 {
			return leasehold.ErrLost
		}
		if row.TTL != leasehold.Infinite {
			row.Ends = now().Clock + machine.Time(row.TTL)
		}
		row.Renewals++
		f.rows[held.Resource] = row
		return nil
	})
	return row, err
}

func (f *fake) release(held machine.Row) error {
	return f.step(true, func() error {
		row := f.rows[held.Resource]
		if row.ID != held.ID {
			return leasehold.ErrLost
		}
		row.State, row.Metadata, row.Ends = leasehold.StateReleased, nil, now().Clock
		f.rows[held.Resource] = row
		return nil
	})
}

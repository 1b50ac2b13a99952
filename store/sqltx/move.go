package sqltx

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
)

// MoveMark implements move.Store.
func (s *Store) MoveMark(ctx context.Context) (move.Mark, error) {
	f, err := s.moveRead(ctx)
	if err != nil {
		return move.Mark{}, err
	}
	return f.Control.Mark.at(f.Now), nil
}

// moveRead reads what a move may read whatever the mark says.
func (s *Store) moveRead(ctx context.Context) (Found, error) {
	if err := s.calls.Start("move", ""); err != nil {
		return Found{}, err
	}
	defer s.calls.Done()
	f, err := s.db.Read(ctx, Need{})
	if err != nil {
		return Found{}, s.failures.Read(ctx, "move", "", err)
	}
	return f, nil
}

// SwapMoveMark implements move.Store.
func (s *Store) SwapMoveMark(ctx context.Context, old, next move.Mark) error {
	need := Need{Alone: true, Base: old.State == move.Open && next.State == move.Arriving}
	var used string
	_, err := s.moveStep(ctx, need, old, func(f Found) Write {
		if f.Base != nil {
			if used = inUse(*f.Base); used != "" {
				return Write{}
			}
		}
		mark := &Mark{ID: next.ID, State: next.State, Peer: next.Peer}
		if next.State == move.Leaving {
			mark.Until = f.Now.Clock + machine.Time(next.Lasts)
		}
		w := Write{Mark: mark}
		if next.State == move.Moved {
			w.Clear = math.MaxInt32
		}
		return w
	})
	if err == nil && used != "" {
		return &move.InUseError{Why: used}
	}
	return err
}

// moveStep writes while no other step is under way, if the mark is the given one.
func (s *Store) moveStep(ctx context.Context, n Need, mark move.Mark, decide func(Found) Write) (Done, error) {
	if err := s.calls.Start("move", ""); err != nil {
		return Done{}, err
	}
	defer s.calls.Done()
	changed := false
	d, err := s.db.Step(ctx, n, func(f Found) Write {
		if changed = !f.Control.Mark.at(f.Now).Is(mark); changed {
			return Write{}
		}
		return decide(f)
	})
	switch {
	case err != nil:
		return d, s.failures.Complete("move", "", err, true)
	case changed:
		return d, move.ErrMarkChanged
	}
	return d, nil
}

// InUse implements move.Store.
func (s *Store) InUse(ctx context.Context) (string, error) {
	b, err := s.base(ctx)
	if err != nil {
		return "", err
	}
	return inUse(b), nil
}

func inUse(b Base) string {
	switch {
	case b.Control.Mark.State == move.Moved:
		return ""
	case b.Live+b.Ended > 0:
		return fmt.Sprintf("it has %d leases", b.Live+b.Ended)
	case b.Token > 0:
		return fmt.Sprintf("it has given out tokens up to %d", b.Token)
	case b.Records:
		return "it has a history"
	}
	return ""
}

func (s *Store) base(ctx context.Context) (Base, error) {
	if err := s.calls.Start("move", ""); err != nil {
		return Base{}, err
	}
	defer s.calls.Done()
	b, err := s.db.Base(ctx)
	if err != nil {
		return Base{}, s.failures.Read(ctx, "move", "", err)
	}
	return b, nil
}

// KeepsNotes implements move.Store.
func (s *Store) KeepsNotes() bool { return s.traits.Notes }

// MoveSummary implements move.Store.
func (s *Store) MoveSummary(ctx context.Context) (move.Summary, error) {
	b, err := s.base(ctx)
	if err != nil {
		return move.Summary{}, err
	}
	return move.Summary{Live: b.Live, Ended: b.Ended, Scoped: b.Scoped, Notes: b.Notes, Token: b.Token, Settings: b.Control.Settings}, nil
}

// Export implements move.Store.
func (s *Store) Export(ctx context.Context, after string, n int) ([]move.Lease, error) {
	if err := s.calls.Start("move", ""); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	rows, now, err := s.db.List(ctx, ListQuery{After: after, Unscoped: true, Limit: n})
	if err != nil {
		return nil, s.failures.Read(ctx, "move", "", err)
	}
	leases := make([]move.Lease, len(rows))
	for i, row := range rows {
		leases[i] = move.Lease{Row: row.At(now), Remaining: row.Remaining(now)}
	}
	return leases, nil
}

// Clear implements move.Store.
func (s *Store) Clear(ctx context.Context, mark move.Mark) (more bool, err error) {
	const most = 10_000
	d, err := s.moveStep(ctx, Need{Alone: true}, mark, func(Found) Write { return Write{Clear: most} })
	return d.Cleared == most, err
}

// Import implements move.Store. What remains is rounded up to a microsecond, which
// every database keeps.
func (s *Store) Import(ctx context.Context, mark move.Mark, leases []move.Lease) error {
	_, err := s.moveStep(ctx, Need{Alone: true}, mark, func(f Found) Write {
		w := Write{Version: newVersion()}
		for _, l := range leases {
			row := l.Row
			switch l.Remaining {
			case leasehold.Infinite:
				row.Ends = machine.Never
			default:
				row.Ends = f.Now.Clock + machine.Time((l.Remaining + time.Microsecond - 1).Truncate(time.Microsecond))
			}
			w.Rows = append(w.Rows, row)
		}
		return w
	})
	return err
}

// ImportBase implements move.Store.
func (s *Store) ImportBase(ctx context.Context, mark move.Mark, token uint64, settings map[string]any) error {
	_, err := s.moveStep(ctx, Need{Alone: true}, mark, func(Found) Write {
		return Write{Token: token, Settings: settings, ResetSettings: true}
	})
	return err
}

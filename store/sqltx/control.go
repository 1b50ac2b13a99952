package sqltx

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// control is the settings, decoded once for each version.
type control struct {
	mu      sync.Mutex
	version int64
	values  *settings.Values
	mark    Mark
}

// decode returns the settings. What is stored wrongly, by whatever hand, counts as
// not stored.
func (c *control) decode(found Control) *settings.Values {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values != nil && c.version == found.Version {
		return c.values
	}
	values, err := settings.From(found.Settings)
	if err != nil {
		values = settings.Defaults()
		for key, value := range found.Settings {
			if next, _, _, err := values.With(key, value); err == nil {
				values = next
			}
		}
	}
	c.version, c.values, c.mark = found.Version, values, found.Mark
	return values
}

// last returns what was last decoded; nil before.
func (c *control) last() (Control, *settings.Values) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Control{Version: c.version, Mark: c.mark}, c.values
}

// at is the mark as it stands at now: a Leaving that has run out is Open.
func (m Mark) at(now machine.Instant) move.Mark {
	mark := move.Mark{ID: m.ID, State: m.State, Peer: m.Peer}
	if m.State != move.Leaving {
		return mark
	}
	left := m.Until - now.Clock
	if left <= 0 {
		return move.Mark{ID: m.ID, Peer: m.Peer}
	}
	mark.Lasts = time.Duration(left)
	return mark
}

// ranOut reports whether a Leaving is over: its mover died.
func (m Mark) ranOut(now machine.Instant) bool {
	return m.State == move.Leaving && m.Until <= now.Clock
}

// reopen makes a Leaving that has run out Open for good, before the first change: the
// database's clock may step back, and the move must not go on then.
func (s *Store) reopen(ctx context.Context) error {
	_, err := s.db.Step(ctx, Need{Alone: true}, func(f Found) Write {
		if mark := f.Control.Mark; mark.ranOut(f.Now) {
			return Write{Mark: &Mark{ID: mark.ID, State: move.Open, Peer: mark.Peer}}
		}
		return Write{}
	})
	return err
}

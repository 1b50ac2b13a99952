package sqltx

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/calls"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// change makes a step that concerns more than one resource, or none. A move refuses
// it. The caller's context ends it only before it starts: a write under way is not
// cut off.
func (s *Store) change(ctx context.Context, op string, n Need, decide func(v *settings.Values, f Found) Write) error {
	_, err := calls.Run(ctx, s.calls, calls.Write[struct{}]{
		Op: op,
		Run: func(ctx context.Context) (none struct{}, err error) {
			ctx, cancel := context.WithTimeout(ctx, s.limit)
			defer cancel()
			return none, s.changeNow(ctx, op, n, decide)
		},
	})
	return err
}

func (s *Store) changeNow(ctx context.Context, op string, n Need, decide func(v *settings.Values, f Found) Write) error {
	var refused error
	var ranOut bool
	_, err := s.db.Step(ctx, n, func(f Found) Write {
		if ranOut = f.Control.Mark.ranOut(f.Now); ranOut {
			return Write{}
		}
		if refused = f.Control.Mark.at(f.Now).Refusal(true); refused != nil {
			return Write{}
		}
		return decide(s.control.decode(f.Control), f)
	})
	switch {
	case err != nil:
		return s.failures.Complete(op, "", err, true)
	case refused != nil:
		return s.failures.New(op, "", leasehold.ReasonUnavailable, refused)
	case ranOut:
		if err := s.reopen(ctx); err != nil {
			return s.failures.Complete(op, "", err, false)
		}
		return s.changeNow(ctx, op, n, decide)
	}
	s.watches.Wake()
	return nil
}

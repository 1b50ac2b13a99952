package move

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold/internal/sleep"
)

const (
	tries      = 4
	firstPause = 100 * time.Millisecond

	// callTimeout ends a call that hangs: operations of clients may wait behind it.
	callTimeout = 10 * time.Second
	// deleteTimeout is for the one that deletes all leases, when nobody waits any more.
	deleteTimeout = 10 * time.Minute
)

// swap replaces a mark, also if answers are lost: an ID is of one run, so a mark that
// is next already was written by this run.
func swap(ctx context.Context, s Store, old, next Mark) error {
	limit := callTimeout
	if next.State == Moved {
		limit = deleteTimeout
	}
	return retry(ctx, func(context.Context) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := s.SwapMoveMark(limited, old, next)
		if err == nil {
			return nil
		}
		look, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		now, lookErr := s.MoveMark(look)
		switch {
		case lookErr != nil && errors.Is(err, ErrMarkChanged): // perhaps by an earlier try of this call
			return lookErr
		case lookErr != nil:
			return err
		case now.Is(next):
			return nil
		case !now.Is(old):
			if _, used := errors.AsType[*InUseError](err); !used {
				return ErrMarkChanged
			}
		}
		return err
	})
}

// retry calls f again while its error may pass. All calls of a move may be repeated.
func retry(ctx context.Context, f func(context.Context) error) error {
	_, err := again(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// again is retry for calls with a result.
func again[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for n, pause := 1, firstPause; ; n, pause = n+1, pause*4 {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		v, err := f(limited)
		cancel()
		if err == nil || n == tries || !mayPass(err) || !sleep.For(ctx, pause) {
			return v, err
		}
	}
}

func mayPass(err error) bool {
	_, used := errors.AsType[*InUseError](err)
	return !used && !errors.Is(err, ErrMarkChanged)
}

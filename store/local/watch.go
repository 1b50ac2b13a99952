package local

import (
	"context"

	"github.com/leasehold/leasehold"
)

// Watch implements leasehold.Watcher.
func (e *Engine) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	return e.WatchBatches(ctx, r, func(notices []*leasehold.SharedNotice) error {
		for _, n := range notices {
			if err := each(n.Notice); err != nil {
				return err
			}
		}
		return nil
	})
}

// WatchBatches implements leasehold.BatchWatcher.
func (e *Engine) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if err := r.Validate(); err != nil {
		return e.explain("watch", "", err)
	}
	w, notices := e.hub.join(r)
	defer e.hub.leave(w)
	var more <-chan struct{}
	for closed := false; ; {
		if len(notices) > 0 {
			if err := each(notices); err != nil {
				return err
			}
		}
		if notices, more = w.take(); len(notices) > 0 && ctx.Err() == nil {
			continue
		}
		if closed {
			return e.explain("watch", "", unavailable(errClosed))
		}
		select {
		case <-more:
		case <-ctx.Done():
			return e.explain("watch", "", unavailable(context.Cause(ctx)))
		case <-e.hub.closed:
			closed = true // once more: all that is durable is there now
		}
	}
}

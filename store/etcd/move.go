package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/store/cas"
)

var _ move.Store = (*Store)(nil)

// MoveMark implements move.Store.
func (s *Store) MoveMark(ctx context.Context) (move.Mark, error) {
	v, err := s.backend.look(ctx, clientv3.OpGet(s.backend.keys.counter()))
	if err != nil {
		return move.Mark{}, moveError(err)
	}
	mark := v.state.mark()
	if mark.State == move.Leaving {
		left, err := s.backend.timeToLive(ctx, v.state.leaving)
		if err != nil {
			return move.Mark{}, moveError(err)
		}
		mark.Lasts = max(1, left) // the key was there
	}
	return mark, nil
}

// SwapMoveMark implements move.Store.
func (s *Store) SwapMoveMark(ctx context.Context, old, next move.Mark) error {
	return moveError(s.backend.swapMark(ctx, old, next))
}

func (b *backend) swapMark(ctx context.Context, old, next move.Mark) error {
	for more := next.State == move.Moved; more; { // closed for good: it may take several steps
		var err error
		if more, err = b.clear(ctx, old); err != nil {
			return err
		}
	}
	var empty []clientv3.Cmp
	if old.State == move.Open && next.State == move.Arriving {
		if err := b.refuseUsed(ctx); err != nil {
			return err
		}
		empty = b.isEmpty()
	}
	var ops []clientv3.Op
	if next.State == move.Leaving {
		lease, err := b.grant(ctx, next.Lasts)
		if err != nil {
			return err
		}
		ops = append(ops, clientv3.OpPut(b.keys.leaving(), "", clientv3.WithLease(lease.id)))
	} else {
		ops = append(ops, clientv3.OpDelete(b.keys.leaving()))
	}
	err := b.moveStep(ctx, old, empty, func(was storeState) []clientv3.Op {
		was.Move = &storedMark{next.ID, next.State, next.Peer}
		return append(ops, clientv3.OpPut(b.keys.store(), was.encode()))
	})
	if errors.Is(err, move.ErrMarkChanged) && empty != nil {
		if used := b.refuseUsed(ctx); used != nil {
			return used
		}
	}
	return err
}

// moveStep writes if the mark is the given one, and other conditions hold.
func (b *backend) moveStep(ctx context.Context, mark move.Mark, conditions []clientv3.Cmp, ops func(storeState) []clientv3.Op) error {
	v, err := b.look(ctx, clientv3.OpGet(b.keys.counter()))
	if err != nil {
		return err
	}
	if !v.state.mark().Is(mark) {
		return move.ErrMarkChanged
	}
	_, err = b.commit(ctx, writing, append(b.stands(v.state), conditions...), ops(*v.state))
	if errors.Is(err, cas.ErrRaced) {
		return move.ErrMarkChanged
	}
	return err
}

// stands needs the mark to be as it was read. Leaving that was over stays so.
func (b *backend) stands(state *storeState) []clientv3.Cmp {
	same := []clientv3.Cmp{unchanged(b.keys.store(), state.revision)}
	if state.mark().State == move.Leaving {
		same = append(same, unchanged(b.keys.leaving(), state.revision))
	}
	return same
}

// grant returns a new etcd lease.
func (b *backend) grant(ctx context.Context, lasts time.Duration) (to bound, err error) {
	err = b.call(ctx, reading, func(ctx context.Context) error { // one too many runs out
		granted, err := b.client.Grant(ctx, wholeSeconds(lasts))
		if err == nil {
			to = bound{id: granted.ID, seconds: wholeSeconds(lasts)}
		}
		return err
	})
	return to, err
}

// contents are what a move asks for.
type contents struct {
	view
	live, history int64
	token         uint64 // no lease has a larger one
}

func (b *backend) contents(ctx context.Context) (c contents, err error) {
	answer, err := b.commit(ctx, reading, nil, []clientv3.Op{
		b.getConfig(), clientv3.OpGet(b.keys.counter()), b.count(b.keys.leases()), b.count(b.keys.history()), b.count(b.keys.pending()),
	})
	if err != nil {
		return c, err
	}
	of := func(i int) int64 { return answer.Responses[i].GetResponseRange().Count }
	if c.state, c.settings, err = b.configured(answer.Responses[0].GetResponseRange().Kvs); err != nil {
		return c, err
	}
	c.live, c.history = of(2), of(1)+of(3)+of(4)
	switch {
	case c.state.mark().State != move.Open: // no token was given out since
		c.token = c.state.Base + uint64(c.state.revision)
	case c.live+c.history > 0 || c.state.revision != 0: // else it was never used; only health checks leave no trace
		c.token = c.state.Base + uint64(answer.Header.Revision)
	}
	return c, nil
}

func (b *backend) count(prefix string) clientv3.Op {
	return clientv3.OpGet(prefix, under(prefix), clientv3.WithCountOnly())
}

// isEmpty needs what InUse looks for not to be there.
func (b *backend) isEmpty() []clientv3.Cmp {
	none := []clientv3.Cmp{unchanged(b.keys.counter(), 0)}
	for _, prefix := range []string{b.keys.leases(), b.keys.history(), b.keys.pending()} {
		none = append(none, clientv3.Compare(clientv3.CreateRevision(prefix), "=", 0).WithPrefix())
	}
	return none
}

func (b *backend) refuseUsed(ctx context.Context) error {
	c, err := b.contents(ctx)
	if err != nil {
		return err
	}
	if why := c.inUse(); why != "" {
		return &move.InUseError{Why: why}
	}
	return nil
}

func (c contents) inUse() string {
	switch {
	case c.state.mark().State == move.Moved:
		return ""
	case c.live > 0:
		return fmt.Sprintf("it has %d leases", c.live)
	case c.state.Base > 0:
		return fmt.Sprintf("it has given out tokens up to %d", c.token)
	case c.history > 0:
		return "it has a history"
	}
	return ""
}

// InUse implements move.Store.
func (s *Store) InUse(ctx context.Context) (string, error) {
	c, err := s.backend.contents(ctx)
	if err != nil {
		return "", moveError(err)
	}
	return c.inUse(), nil
}

// KeepsNotes implements move.Store.
func (s *Store) KeepsNotes() bool { return false }

// MoveSummary implements move.Store.
func (s *Store) MoveSummary(ctx context.Context) (move.Summary, error) {
	c, err := s.backend.contents(ctx)
	if err != nil {
		return move.Summary{}, moveError(err)
	}
	settings, err := decodeSettings(c.settings)
	if err != nil {
		return move.Summary{}, moveError(err)
	}
	return move.Summary{Live: c.live, Token: c.token, Settings: settings}, nil
}

// moveError completes an error.
func moveError(err error) error {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		return err
	}
	full := *e
	full.Op, full.Store = "move", kind
	return &full
}

package surreal

import (
	"context"
	"errors"
	"time"

	"github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"
	"github.com/surrealdb/surrealdb.go/surrealcbor"
)

// lateNotices is how long notices may come after a live query was ended.
const lateNotices = 200 * time.Millisecond

var errNoNotices = errors.New("surreal: the live query has ended")

// Notify implements cas.Notifier by a live query.
func (b *backend) Notify(ctx context.Context, ready func(), freed func(resource string)) error {
	live, err := b.startLive(ctx)
	if err != nil {
		return err
	}
	defer live.stop()
	ready()
	check := time.NewTicker(pingEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case notice, ok := <-live.notices:
			if !ok {
				return errNoNotices
			}
			if resource, ok := resourceOf(notice); ok {
				freed(resource)
			}
		case <-check.C:
			if err := live.check(ctx); err != nil {
				return err
			}
		}
	}
}

// resourceOf is the resource that a notice is about.
func resourceOf(n connection.Notification) (string, bool) {
	row, _ := n.Result.(map[string]any)
	resource, ok := row["resource"].(string)
	return resource, ok && n.Action != connection.DeleteAction
}

// live is a live query under way.
type live struct {
	notices <-chan connection.Notification
	check   func(context.Context) error // that the connection is there
	stop    func()
}

// startLive starts the live query on the store's own connection, whose end closes
// the channel, or on a client that does not tell.
func (b *backend) startLive(ctx context.Context) (*live, error) {
	if b.own == nil {
		return b.liveOnClient(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	l, err := b.own.current(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := l.call(ctx, &connection.RPCRequest{Method: "query", Params: []any{liveText}})
	if err != nil {
		return nil, err
	}
	var results []surrealdb.QueryResult[models.UUID]
	if answer.Result == nil || surrealcbor.Unmarshal(*answer.Result, &results) != nil || len(results) != 1 {
		return nil, errNoNotices
	}
	id := results[0].Result.String()
	notices, err := l.follow(id)
	if err != nil {
		return nil, err
	}
	return &live{
		notices: notices,
		check:   func(context.Context) error { return nil },
		stop: func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, _ = l.call(ctx, &connection.RPCRequest{Method: "kill", Params: []any{results[0].Result}})
			l.unfollow(id)
		},
	}, nil
}

// liveOnClient starts the live query on a client that was handed in.
func (b *backend) liveOnClient(ctx context.Context) (*live, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	var id models.UUID
	if err := b.read(ctx, liveText, nil, &id); err != nil {
		return nil, err
	}
	notices, err := b.db.LiveNotifications(id.String())
	if err != nil {
		return nil, err
	}
	return &live{
		notices: notices,
		check: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
			defer cancel()
			_, _, err := b.LoadSettings(ctx)
			return err
		},
		// The client panics if a notice comes when its channel was closed, and blocks
		// if nobody reads it: so it is read for a while, and never closed.
		stop: func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, _ = b.run(ctx, "KILL $id", vars{"id": id})
			for last := time.After(lateNotices); ; {
				select {
				case <-notices:
				case <-last:
					return
				}
			}
		},
	}, nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
)

// channelOf is the channel of a schema. Channels belong to the whole database, and
// their names are short.
func channelOf(schema string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(schema))
	return fmt.Sprintf("leasehold_%x", h.Sum64())
}

// Notify implements sqltx.Notifier, on a connection of its own: LISTEN is bound to
// it.
func (d *db) Notify(ctx context.Context, ready func(), freed func(resource string)) error {
	if d.listen == nil {
		<-ctx.Done() // behind a pooler without a direct URL: waiters look by themselves
		return nil
	}
	conn, err := connect(ctx, d.listen)
	if err != nil {
		return readFailure(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+d.channel); err != nil {
		return readFailure(err)
	}
	ready()
	for {
		quiet, cancel := context.WithTimeout(ctx, probeEvery)
		n, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			freed(n.Payload)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			if err := probe(ctx, conn); err != nil {
				return readFailure(err)
			}
		default:
			return readFailure(err)
		}
	}
}

// probeEvery is how often a quiet connection is tried: one that a firewall has
// dropped says nothing.
const probeEvery = 20 * time.Second

func probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return conn.Ping(ctx)
}

func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	config = config.Copy()
	config.OnNotification = nil // it is that of the connection that it was copied from
	return pgx.ConnectConfig(ctx, config)
}

package api

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
	"github.com/leasehold/leasehold/wire"
)

// pastQuery asks for one resource, or for all leases.
type pastQuery struct {
	Time      time.Time `query:"time,required" doc:"The moment; at most a minute ahead of the server's clock." example:"2026-01-31T12:00:00Z"`
	Resource  string    `query:"resource" doc:"Only this one, with its waiters. Else all leases that were live."`
	Prefix    string    `query:"prefix" doc:"Only names that begin so."`
	Holder    string    `query:"holder" doc:"Only leases that this holder had then."`
	Namespace string    `query:"namespace" doc:"Only leases with a path in this namespace."`
	Path      string    `query:"path" doc:"And there one that overlaps with this pattern."`
	pageQuery
}

// historyAt serves GET /v1/history/at.
func historyAt(c *call, q pastQuery) (wire.Past, error) {
	historian, ok := c.s.store.(leasehold.Historian)
	if !ok {
		return wire.Past{}, c.unsupported()
	}
	if err := q.check(); err != nil {
		return wire.Past{}, err
	}
	if err := c.enterScan(); err != nil {
		return wire.Past{}, err
	}
	defer c.s.scans.Exit(c.caller.Name)
	return callStoreFor(c, c.ctx, scanWait, func(ctx context.Context, q pastQuery) (wire.Past, error) {
		if q.Resource != "" {
			a, err := past.Resource(ctx, historian, q.Resource, q.Time, nil)
			return wire.FromPast(a), err
		}
		p, err := past.Table(ctx, historian, past.TableRequest{
			Time: q.Time, Prefix: q.Prefix, Holder: q.Holder, Namespace: q.Namespace, Path: q.Path, Limit: q.Limit, Cursor: q.Cursor,
		}, nil)
		return wire.FromPastPage(p), err
	}, q)
}

// check refuses filters of the list beside one resource.
func (q pastQuery) check() error {
	for _, f := range []struct{ name, value string }{
		{"prefix", q.Prefix}, {"holder", q.Holder}, {"namespace", q.Namespace}, {"path", q.Path}, {"cursor", q.Cursor},
	} {
		if q.Resource != "" && f.value != "" {
			return leasehold.Invalid(f.name, "is sent together with resource; it filters the list of all")
		}
	}
	return nil
}

package cosmos

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/cas"
)

const storeName = "cosmos"

// backend is the container as package cas sees it.
type backend struct {
	container   *azcosmos.ContainerClient
	partition   Partition
	account     *account
	sessions    sessions
	closeClient func()
}

var (
	_ cas.Backend = (*backend)(nil)
	_ cas.Finder  = (*backend)(nil)
)

// Traits implements cas.Backend.
func (b *backend) Traits() cas.Traits { return cas.Traits{Kind: storeName, Grain: grain} }

// Close implements cas.Backend.
func (b *backend) Close() error {
	b.closeClient()
	return nil
}

// Load implements cas.Backend.
func (b *backend) Load(ctx context.Context, resource string) (cas.Item, error) {
	key := b.partition.key(resource)
	var resp azcosmos.ItemResponse
	err := b.call(ctx, read, func() (err error) {
		resp, err = b.container.ReadItem(ctx, azcosmos.NewPartitionKeyString(key), documentID(resource),
			&azcosmos.ItemOptions{SessionToken: b.sessions.get(key)})
		return err
	})
	if f := failureOf(err); f != nil && f.absent() {
		b.sessions.put(key, f.session)
		return cas.Item{Now: f.date}, nil
	}
	if err != nil {
		return cas.Item{}, err
	}
	now, err := dateOf(resp.RawResponse)
	if err != nil {
		return cas.Item{}, unavailable(err)
	}
	b.sessions.put(key, resp.RawResponse.Header.Get(sessionHeader))
	item, err := decodeDocument(resp.Value, now)
	if err == nil && item.Row.Resource != resource {
		err = errForeign
	}
	if err != nil {
		return cas.Item{}, unavailable(err)
	}
	return item, nil
}

// Swap implements cas.Backend.
func (b *backend) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	d := encodeDocument(w, b.partition)
	body, err := json.Marshal(d)
	if err != nil {
		return cas.Item{}, unavailable(err)
	}
	var resp azcosmos.ItemResponse
	err = b.call(ctx, write, func() (err error) {
		key := azcosmos.NewPartitionKeyString(d.PartitionKey)
		if v == "" {
			resp, err = b.container.CreateItem(ctx, key, body, nil)
		} else {
			etag := azcore.ETag(v)
			resp, err = b.container.ReplaceItem(ctx, key, d.ID, body, &azcosmos.ItemOptions{IfMatchEtag: &etag})
		}
		return err
	})
	if f := failureOf(err); f != nil && f.raced() {
		b.sessions.put(d.PartitionKey, f.session)
		return cas.Item{}, cas.ErrRaced
	}
	if err != nil {
		return cas.Item{}, err
	}
	now, err := dateOf(resp.RawResponse)
	if err != nil { // it was written, but who knows when
		return cas.Item{}, &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: err}
	}
	b.sessions.put(d.PartitionKey, resp.RawResponse.Header.Get(sessionHeader))
	return cas.Item{Row: w.Row, Marks: w.Marks, Version: cas.Version(resp.ETag), Now: now}, nil
}

// Find implements cas.Finder.
func (b *backend) Find(ctx context.Context, id leasehold.ID) ([]cas.Item, error) {
	var items []cas.Item
	err := b.query(ctx, "SELECT * FROM c WHERE c.leaseId = @id OR c.formerId = @id",
		[]azcosmos.QueryParameter{{Name: "@id", Value: id.Reveal()}},
		func(item cas.Item) { items = append(items, item) })
	return items, err
}

// Scan implements cas.Backend. Cosmos' gateway does not sort over partitions, so
// every document with the prefix is read, and the n smallest names are kept.
func (b *backend) Scan(ctx context.Context, prefix, after string, n int) ([]cas.Item, error) {
	var items []cas.Item
	smallest := func() {
		slices.SortFunc(items, func(x, y cas.Item) int { return strings.Compare(x.Row.Resource, y.Row.Resource) })
		items = items[:min(n, len(items))]
	}
	err := b.query(ctx, "SELECT * FROM c WHERE STARTSWITH(c.leaseName, @prefix)",
		[]azcosmos.QueryParameter{{Name: "@prefix", Value: prefix}},
		func(item cas.Item) {
			if item.Row.Resource <= after || !strings.HasPrefix(item.Row.Resource, prefix) {
				return
			}
			if items = append(items, item); len(items) >= 2*n+1000 {
				smallest()
			}
		})
	if err != nil {
		return nil, err
	}
	smallest()
	return items, nil
}

// query calls each for every document of this store that the query finds.
func (b *backend) query(ctx context.Context, sql string, params []azcosmos.QueryParameter, each func(cas.Item)) error {
	pager := b.container.NewQueryItemsPager(sql, azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{QueryParameters: params, PageSizeHint: 1000})
	for pager.More() {
		var page azcosmos.QueryItemsResponse
		err := b.call(ctx, read, func() (err error) {
			page, err = pager.NextPage(ctx)
			return err
		})
		if err != nil {
			return err
		}
		now, err := dateOf(page.RawResponse)
		if err != nil {
			return unavailable(err)
		}
		for _, body := range page.Items {
			if item, err := decodeDocument(body, now); err == nil { // others may use the container, too
				each(item)
			}
		}
	}
	return nil
}

// maxRepeats is how often a request is repeated that did nothing.
const maxRepeats = 9

// call makes a request, and again if Cosmos throttled it, or its replica is behind
// the session, which means that it did nothing: after the time that Cosmos says,
// if there is that much left.
func (b *backend) call(ctx context.Context, kind access, request func() error) error {
	if err := b.account.check(); err != nil {
		return unavailable(err)
	}
	for n := 0; ; n++ {
		err := request()
		if err == nil {
			return b.checked(kind)
		}
		f := classify(ctx, kind, err)
		deadline, limited := ctx.Deadline()
		if !f.again() || n == maxRepeats || limited && time.Until(deadline) <= f.retryAfter {
			return f.asError()
		}
		if !sleep.For(ctx, f.retryAfter) {
			return f.asError()
		}
	}
}

// checked refuses a read of an account that turned out to be unsafe just now. A
// write has happened.
func (b *backend) checked(kind access) error {
	if err := b.account.check(); err != nil && kind == read {
		return unavailable(err)
	}
	return nil
}

func unavailable(err error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
}

// dateOf is the service's time.
func dateOf(resp *http.Response) (time.Time, error) {
	if resp == nil {
		return time.Time{}, errNoDate
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}, errNoDate
	}
	return date, nil
}

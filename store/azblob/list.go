package azblob

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
)

// List returns a page of live leases, in the order of the resources' bytes.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	page, err := s.list(ctx, r)
	return page, storeError("list", "", err)
}

func (s *Store) list(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	if err := first(r.Validate(), s.usable(ctx)); err != nil {
		return leasehold.LeasePage{}, err
	}
	at, ok := decodeCursor(r.Cursor)
	if !ok {
		return leasehold.LeasePage{}, leasehold.Invalid("cursor", "is not one of this store; want the one of the page before")
	}
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	if len(r.States) == 0 {
		r.States = []leasehold.State{leasehold.StateActive, leasehold.StateBreaking}
	}
	l := &listing{Store: s, r: r, after: at.After}
	if err := l.read(ctx, at.Marker); err != nil {
		return leasehold.LeasePage{}, err
	}
	return l.page, nil
}

// listing is one page under way.
type listing struct {
	*Store
	r     leasehold.ListRequest
	after string // resources up to this one were on the pages before
	page  leasehold.LeasePage

	from string // the service's marker of the segment that is being read
	last string // the service's marker of the segment of the last lease on the page
}

// read reads segments of the service's list until the page is full and one more
// lease is known.
func (l *listing) read(ctx context.Context, marker string) error {
	for {
		got, f := l.segment(ctx, marker)
		if f != nil {
			return f
		}
		l.from = marker
		for _, item := range got.Segment.BlobItems {
			full, err := l.add(ctx, &got, item)
			if full || err != nil {
				return err
			}
		}
		if marker = deref(got.NextMarker); marker == "" {
			return nil
		}
	}
}

func (l *listing) segment(ctx context.Context, marker string) (container.ListBlobsFlatResponse, *failure) {
	ctx, cancel := l.limited(ctx)
	defer cancel()
	prefix := l.opts.Prefix + encodeName(l.prefix())
	options := &container.ListBlobsFlatOptions{Prefix: &prefix, Include: container.ListBlobsInclude{Metadata: true}}
	if marker != "" {
		options.Marker = &marker
	}
	var got container.ListBlobsFlatResponse
	f := l.service.repeat(ctx, true, func(ctx context.Context) (err error) {
		got, err = l.service.client.NewListBlobsFlatPager(options).NextPage(ctx)
		if err == nil && got.ContainerName == nil {
			err = errNotAzure
		}
		return err
	})
	if f == nil && got.Segment == nil {
		got.Segment = &container.BlobFlatListSegment{}
	}
	return got, nothingDone(f)
}

// prefix is what all resources begin with that can match.
func (l *listing) prefix() string {
	if l.r.Resource != "" && strings.HasPrefix(l.r.Resource, l.r.Prefix) {
		return l.r.Resource
	}
	return l.r.Prefix
}

// add adds a blob's lease to the page if it matches. Full: there are more than fit.
func (l *listing) add(ctx context.Context, got *container.ListBlobsFlatResponse, item *container.BlobItem) (full bool, err error) {
	v, ok := l.viewOf(got, item)
	if !ok || !l.matches(&v) {
		return false, nil
	}
	if v.inContent {
		if v, err = l.complete(ctx, v); err != nil || !v.locked() {
			return false, err
		}
	}
	shown := l.shownLease(ctx, &v)
	if !slices.Contains(l.r.States, shown.State) || !contains(v.metadata, l.r.Metadata) {
		return false, nil
	}
	if len(l.page.Leases) == l.r.Limit {
		after := l.page.Leases[l.r.Limit-1].Resource
		l.page.Cursor = encodeCursor(cursor{Marker: l.last, After: after})
		return true, nil
	}
	l.page.Leases, l.last = append(l.page.Leases, shown), l.from
	return false, nil
}

// viewOf reads an item of the service's list; false: it is no live lease, or it is
// before the page.
func (l *listing) viewOf(got *container.ListBlobsFlatResponse, item *container.BlobItem) (v view, ok bool) {
	encoded, ok := strings.CutPrefix(deref(item.Name), l.opts.Prefix)
	if !ok || item.Properties == nil {
		return v, false
	}
	name, ok := decodeName(encoded)
	if !ok || name <= l.after {
		return v, false
	}
	v.state = deref(item.Properties.LeaseState)
	if !v.locked() {
		return v, false
	}
	r, err := decodeRecord(item.Metadata)
	if err != nil || r.resource != name || r.ended {
		return v, false // not ours, or released
	}
	v.record, v.exists = r, true
	v.etag, v.modified, v.now = deref(item.Properties.ETag), deref(item.Properties.LastModified), deref(got.Date)
	v.infinite = deref(item.Properties.LeaseDuration) == lease.DurationTypeInfinite
	return v, true
}

// complete reads what the service's list leaves out.
func (l *listing) complete(ctx context.Context, v view) (view, error) {
	ctx, cancel := l.limited(ctx)
	defer cancel()
	now, f := l.service.load(ctx, v.resource, leasehold.ID{})
	if f != nil {
		return v, f
	}
	return now, nil
}

// matches checks what is known without the metadata.
func (l *listing) matches(v *view) bool {
	return (l.r.Resource == "" || v.resource == l.r.Resource) && strings.HasPrefix(v.resource, l.r.Prefix) &&
		(l.r.Holder == "" || v.holder == l.r.Holder)
}

func contains(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// cursor is where a page ends: in the service's segment that starts at Marker,
// after a resource.
type cursor struct {
	Marker string `json:"m,omitempty"`
	After  string `json:"a"`
}

// encodeCursor adds a checksum, so that a cursor of another store is refused.
func encodeCursor(c cursor) string {
	text, _ := json.Marshal(c) // strings: it cannot fail
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(text))
	return base64.RawURLEncoding.EncodeToString(append(sum, text...))
}

func decodeCursor(s string) (c cursor, ok bool) {
	if s == "" {
		return c, true
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) < 4 || binary.BigEndian.Uint32(raw) != crc32.ChecksumIEEE(raw[4:]) {
		return c, false
	}
	return c, json.Unmarshal(raw[4:], &c) == nil
}

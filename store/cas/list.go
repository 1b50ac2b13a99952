package cas

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
)

// List implements leasehold.Lister.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	after, err := s.listFrom(r)
	if err != nil {
		return leasehold.LeasePage{}, s.invalid("list", "", err)
	}
	if err := s.start("list", ""); err != nil {
		return leasehold.LeasePage{}, err
	}
	defer s.running.Done()
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	page, err := s.listPage(ctx, r, after)
	if err != nil {
		return leasehold.LeasePage{}, s.readError(ctx, "list", "", err)
	}
	return page, nil
}

// listFrom validates the request and returns the name that its page comes after.
func (s *Store) listFrom(r leasehold.ListRequest) (after string, err error) {
	if err := r.Validate(); err != nil || r.Cursor == "" {
		return "", err
	}
	return parseCursor(r.Cursor)
}

// listPage scans until the page is full and one more lease is there.
func (s *Store) listPage(ctx context.Context, r leasehold.ListRequest, after string) (page leasehold.LeasePage, err error) {
	for {
		items, more, err := s.scan(ctx, r, after)
		if err != nil {
			return leasehold.LeasePage{}, err
		}
		for _, item := range items {
			l, ok := s.listed(r, item)
			if !ok {
				continue
			}
			if len(page.Leases) == r.Limit {
				page.Cursor = cursor(page.Leases[r.Limit-1].Resource)
				return page, nil
			}
			page.Leases = append(page.Leases, l)
		}
		if !more {
			return page, nil
		}
		after = items[len(items)-1].Row.Resource
	}
}

// scan reads the next items, and reports whether there may be more.
func (s *Store) scan(ctx context.Context, r leasehold.ListRequest, after string) (items []Item, more bool, err error) {
	if r.Resource == "" {
		n := r.Limit + 1
		items, err = s.backend.Scan(ctx, r.Prefix, after, n)
		return items, len(items) == n, err
	}
	item, err := s.backend.Load(ctx, r.Resource)
	if err != nil || item.Version == "" || r.Resource <= after || !strings.HasPrefix(r.Resource, r.Prefix) {
		return nil, false, err
	}
	return []Item{item}, false, nil
}

// listed returns the item's lease if the request's filters let it through.
func (s *Store) listed(r leasehold.ListRequest, item Item) (leasehold.Lease, bool) {
	now := instant(item.Now)
	l := s.lease(remembered(item.Row, item.Row.Resource, now), now)
	switch {
	case l.State == leasehold.StateAvailable,
		len(r.States) == 0 && !l.State.Locked(),
		len(r.States) > 0 && !slices.Contains(r.States, l.State),
		r.Holder != "" && l.Holder != r.Holder:
		return l, false
	}
	for k, v := range r.Metadata {
		if got, ok := l.Metadata[k]; !ok || got != v {
			return l, false
		}
	}
	return l, true
}

// cursor makes an opaque cursor out of the last name of a page. The checksum
// tells it from garbage.
func cursor(name string) string {
	sum := binary.BigEndian.AppendUint32([]byte(name), crc32.ChecksumIEEE([]byte(name)))
	return base64.RawURLEncoding.EncodeToString(sum)
}

func parseCursor(c string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err != nil || len(b) <= 4 || cursor(string(b[:len(b)-4])) != c {
		return "", leasehold.Invalid("cursor", "is not one that this list gave out; start again without it")
	}
	return string(b[:len(b)-4]), nil
}

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/leasehold/leasehold/azure/catalog/tagquery"
	"github.com/leasehold/leasehold/engine"
)

// FoundPage is a page of what was found by tags. Its items have no other tags
// than those that the expression names.
type FoundPage struct {
	Blobs []*Item
	Next  string // the marker of the next page; empty: this is the last
}

// maxFindScan is how many blobs a page looks at. Where few of them match, pages
// are short, and still have a marker.
const maxFindScan = 50_000

// FindByTags returns a page of the base blobs of the account, or of one
// container if ref names one, whose tags are as the expression says. They come
// in the order of container, value of the tag that was looked up, and name.
func (c *Catalog) FindByTags(ctx context.Context, ref Ref, where, marker string, max int) (FoundPage, error) {
	q, err := tagquery.ParseSearch(where)
	if err != nil {
		return FoundPage{}, err
	}
	if ref.Container != "" {
		if _, err := c.Container(ctx, ref, Access{}); err != nil {
			return FoundPage{}, err
		}
		q.In(ref.Container)
	}
	s := search{query: q, account: ref.Account, max: pageSize(max)}
	if err := s.start(marker); err != nil {
		return FoundPage{}, err
	}
	for _, args := range s.spans() {
		if err := c.engine.Query(ctx, sqlFindByTag, args, s.row); err != nil {
			if errors.Is(err, errEnough) {
				break
			}
			return FoundPage{}, err
		}
	}
	return s.page, nil
}

// search makes a page of what is found.
type search struct {
	query   tagquery.Search
	account string
	max     int

	at      foundAt
	scanned int
	page    FoundPage
}

// foundAt is how far a search has come.
type foundAt struct{ Container, Value, Name string }

func (s *search) start(marker string) error {
	if marker == "" {
		return nil
	}
	body, err := tagList.decode(marker)
	if err == nil && json.Unmarshal(body, &s.at) != nil {
		err = errForeignMarker
	}
	return err
}

// spans are the arguments of the queries that have all that comes next: the rest
// of the container that the search is in, and the containers after it.
func (s *search) spans() [][]any {
	q, first, last := s.query, "", bound("")
	if q.Container != "" {
		first, last = q.Container, q.Container
	}
	switch here := s.at.Container; {
	case q.Nowhere:
		return nil
	case here == "":
		return [][]any{s.span(first, last, foundAt{})}
	case q.Container != "":
		return [][]any{s.span(first, last, s.at)}
	default:
		return [][]any{s.span(here, here, s.at), s.span(here+"\x00", last, foundAt{})}
	}
}

// span asks the containers from first to last for what comes after a place.
func (s *search) span(first string, last any, at foundAt) []any {
	q, before := s.query, bound("")
	if at.Value < q.From {
		at = foundAt{Value: q.From}
	}
	if q.Before != nil {
		before = *q.Before
	}
	return []any{s.account, first, last, q.Key, at.Value, at.Name, before}
}

// stop ends the page here.
func (s *search) stop() error {
	s.page.Next = tagList.encode(encode(s.at))
	return errEnough
}

func (s *search) row(r engine.Columns) error {
	if len(s.page.Blobs) == s.max || s.scanned == maxFindScan {
		return s.stop()
	}
	s.scanned++
	n := itemColumns
	container := Ref{Account: s.account, Container: r.Text(n)}
	s.at = foundAt{container.Container, r.Text(n + 1), r.Text(0)}
	i, err := scanItem(container, r)
	if err != nil {
		return fmt.Errorf("find by tags: %w", err)
	}
	if s.query.Where.Match(i.Tags) {
		maps.DeleteFunc(i.Tags, func(key, _ string) bool { return !s.query.Where.Names(key) })
		s.page.Blobs = append(s.page.Blobs, i)
	}
	return nil
}

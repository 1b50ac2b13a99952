//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// search is a query, and what it means.
type search struct {
	where string
	found func(tags) bool
}

// searches are the queries for each value, and some for several tags and
// values.
var searches = func() []search {
	all := []search{
		{`"colour" >= 'b' AND "colour" < 'd'`, func(t tags) bool { return t["colour"] >= "b" && t["colour"] < "d" }},
		{`"size" > 'a'`, func(t tags) bool { return t["size"] > "a" }},
		{`"colour" = 'a' AND "size" = 'b'`, func(t tags) bool { return t["colour"] == "a" && t["size"] == "b" }},
	}
	for _, v := range tagValues {
		all = append(all, search{fmt.Sprintf(`"colour" = '%s'`, v), func(t tags) bool { return t["colour"] == v }})
	}
	return all
}()

// among is what the search finds: of the tags, those that it names.
func (s search) among(blobs map[string]tags) string {
	var names []string
	for name, t := range blobs {
		if s.found(t) {
			named := maps.Clone(t)
			maps.DeleteFunc(named, func(tag, _ string) bool { return !strings.Contains(s.where, `"`+tag+`"`) })
			names = append(names, found(name, named))
		}
	}
	return joined(names)
}

func found(name string, t tags) string { return fmt.Sprint(name, map[string]string(t)) }

func joined(names []string) string {
	slices.Sort(names) // the order is not promised
	return strings.Join(names, ", ")
}

// checkInside asks the container.
func (s search) checkInside(ctx context.Context, h *hand[labelled], blobs map[string]tags) error {
	got, err := findInside(ctx, h, s.where)
	if want := s.among(blobs); err != nil || got != want {
		return fmt.Errorf("find %s in %s = %q, %w, want %q", s.where, h.name, got, orWrong(err), want)
	}
	return nil
}

// checkEverywhere asks the account: for all that it has, and for what is in the
// container.
func (s search) checkEverywhere(ctx context.Context, h *hand[labelled], blobs map[string]tags) error {
	want := s.among(blobs)
	for _, where := range []string{s.where, fmt.Sprintf("@container = '%s' AND %s", h.name, s.where)} {
		got, err := findEverywhere(ctx, h, where)
		if err != nil || got != want {
			return fmt.Errorf("find %s in the account = %q of %s, %w, want %q", where, got, h.name, orWrong(err), want)
		}
	}
	return nil
}

// orWrong makes an error of what was answered, and is not so.
func orWrong(err error) error {
	if err == nil {
		return errWrong
	}
	return err
}

// findInside asks the hand's container, in small pages.
func findInside(ctx context.Context, h *hand[labelled], where string) (string, error) {
	var names []string
	o := &container.FilterBlobsOptions{MaxResults: to.Ptr[int32](3)}
	for {
		page, err := h.container().FilterBlobs(ctx, where, o)
		if err != nil {
			return "", err
		}
		for _, b := range page.Blobs {
			names = append(names, found(*b.Name, tagsOf(b.Tags)))
		}
		if o.Marker = page.NextMarker; value(o.Marker) == "" {
			return joined(names), nil
		}
	}
}

// findEverywhere asks the account, and returns what is in the hand's container.
func findEverywhere(ctx context.Context, h *hand[labelled], where string) (string, error) {
	var names []string
	o := &service.FilterBlobsOptions{}
	for {
		page, err := h.face.client.FilterBlobs(ctx, where, o)
		if err != nil {
			return "", err
		}
		for _, b := range page.Blobs {
			if *b.ContainerName == h.name {
				names = append(names, found(*b.Name, tagsOf(b.Tags)))
			}
		}
		if o.Marker = page.NextMarker; value(o.Marker) == "" {
			return joined(names), nil
		}
	}
}

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

// search is a query over tags, and the blobs that it must find.
type search struct {
	where   string
	matches func(tags) bool
}

// searches are queries for each value, for ranges and for two tags.
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

// results is what the search must find: the blobs, with the tags that it names.
func (s search) results(blobs map[string]tags) string {
	var names []string
	for name, t := range blobs {
		if s.matches(t) {
			named := maps.Clone(t)
			maps.DeleteFunc(named, func(tag, _ string) bool { return !strings.Contains(s.where, `"`+tag+`"`) })
			names = append(names, resultText(name, named))
		}
	}
	return joinSorted(names)
}

func resultText(name string, t tags) string { return fmt.Sprint(name, map[string]string(t)) }

func joinSorted(names []string) string {
	slices.Sort(names) // the order is not promised
	return strings.Join(names, ", ")
}

// checkContainer searches the driver's container.
func (s search) checkContainer(ctx context.Context, d *driver[taggedBlob], blobs map[string]tags) error {
	got, err := findInContainer(ctx, d, s.where)
	if want := s.results(blobs); err != nil || got != want {
		return fmt.Errorf("find %s in %s = %q, %w, want %q", s.where, d.name, got, orViolation(err), want)
	}
	return nil
}

// checkAccount searches the account, once in all containers and once in the
// driver's.
func (s search) checkAccount(ctx context.Context, d *driver[taggedBlob], blobs map[string]tags) error {
	want := s.results(blobs)
	for _, where := range []string{s.where, fmt.Sprintf("@container = '%s' AND %s", d.name, s.where)} {
		got, err := findInAccount(ctx, d, where)
		if err != nil || got != want {
			return fmt.Errorf("find %s in the account = %q of %s, %w, want %q", where, got, d.name, orViolation(err), want)
		}
	}
	return nil
}

// orViolation is err, or a violation if there was a wrong answer instead.
func orViolation(err error) error {
	if err == nil {
		return errViolation
	}
	return err
}

// findInContainer searches the driver's container, in small pages.
func findInContainer(ctx context.Context, d *driver[taggedBlob], where string) (string, error) {
	var names []string
	o := &container.FilterBlobsOptions{MaxResults: to.Ptr[int32](3)}
	for {
		page, err := d.container().FilterBlobs(ctx, where, o)
		if err != nil {
			return "", err
		}
		for _, b := range page.Blobs {
			names = append(names, resultText(*b.Name, tagsOf(b.Tags)))
		}
		if o.Marker = page.NextMarker; deref(o.Marker) == "" {
			return joinSorted(names), nil
		}
	}
}

// findInAccount searches the account and returns what is in the driver's
// container.
func findInAccount(ctx context.Context, d *driver[taggedBlob], where string) (string, error) {
	var names []string
	o := &service.FilterBlobsOptions{}
	for {
		page, err := d.endpoint.client.FilterBlobs(ctx, where, o)
		if err != nil {
			return "", err
		}
		for _, b := range page.Blobs {
			if *b.ContainerName == d.name {
				names = append(names, resultText(*b.Name, tagsOf(b.Tags)))
			}
		}
		if o.Marker = page.NextMarker; deref(o.Marker) == "" {
			return joinSorted(names), nil
		}
	}
}

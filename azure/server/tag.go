package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
)

// mayTag refuses whoever may not read and set tags, whatever they do it with:
// whoever reads a blob need not know its tags, and must not find them by
// guessing in a condition.
func (c *call) mayTag(doing string) error {
	switch {
	case c.may("t"):
		return nil
	case c.anonymous:
		return unauthenticated()
	}
	return azerr.New(azerr.AuthorizationPermissionMismatch).With("%s takes the permission t.", doing)
}

func addTag(tags map[string]string, key, value string) error {
	switch {
	case key == "":
		return azerr.New(azerr.EmptyTagName)
	case !tagquery.Valid(key, value):
		return azerr.New(azerr.InvalidTag).With("The tag %.40q is not valid: a key has up to %d and a value up to %d letters, digits, spaces and + - . / : = _.",
			key, tagquery.MaxKey, tagquery.MaxValue)
	case len(tags) == tagquery.MaxTags:
		return azerr.New(azerr.TagsTooLarge)
	}
	if _, twice := tags[key]; twice {
		return azerr.New(azerr.DuplicateTagNames)
	}
	tags[key] = value
	return nil
}

// tagsHeader reads x-ms-tags, which has the form of a query; nil if it is not
// there.
func (c *call) tagsHeader() (map[string]string, error) {
	const name = "x-ms-tags"
	text := c.r.Header.Get(name)
	if text == "" {
		return nil, nil
	}
	if err := c.mayTag("Setting tags"); err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(text, "&") {
		key, value, _ := strings.Cut(pair, "=")
		key, bad := url.QueryUnescape(key)
		value, bad2 := url.QueryUnescape(value)
		if bad != nil || bad2 != nil {
			return nil, badHeader(name, "it must be key=value&key=value, escaped as in a query")
		}
		if err := addTag(tags, key, value); err != nil {
			return nil, err
		}
	}
	return tags, nil
}

type tagXML struct{ Key, Value string }

type tagsXML struct {
	XMLName struct{} `xml:"Tags"`
	Set     struct {
		Tags []tagXML `xml:"Tag"`
	} `xml:"TagSet"`
}

func (s *Server) blobTags(c *call) error {
	access, err := c.tagAccess()
	if err != nil {
		return err
	}
	found, err := s.catalog.Head(c.r.Context(), c.ref, access)
	if err != nil {
		return err
	}
	return c.answerXML(http.StatusOK, tagsOf(found.Tags))
}

// tagAccess is access with the names that the conditions on a blob have where
// plain ones would be about its tags.
func (c *call) tagAccess() (catalog.Access, error) {
	access, err := c.access()
	if err != nil {
		return access, err
	}
	r := headerReader{writes: c.op.Write}
	ofBlob := r.conditions(c.r.Header, blobConditions)
	if ofBlob != (catalog.Conditions{}) {
		ofBlob.Tags = access.If.Tags
		access.If = ofBlob
	}
	return access, r.err
}

func (s *Server) setBlobTags(c *call) error {
	access, err := c.tagAccess()
	if err != nil {
		return err
	}
	var document tagsXML
	if _, err := c.readSummed(&document, maxXML); err != nil {
		return err
	}
	tags := map[string]string{}
	for _, t := range document.Set.Tags {
		if err := addTag(tags, t.Key, t.Value); err != nil {
			return err
		}
	}
	_, err = s.catalog.Modify(c.r.Context(), c.ref, access, false, func(i *catalog.Item) error {
		i.Tags = tags
		return nil
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusNoContent)
}

// tagsOf are tags as a document, sorted by key.
func tagsOf(tags map[string]string) tagsXML {
	var x tagsXML
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		x.Set.Tags = append(x.Set.Tags, tagXML{key, tags[key]})
	}
	return x
}

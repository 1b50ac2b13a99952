package server

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
)

// newBlob reads the headers, metadata, tags and tier of a new version of a blob.
// Known are the tiers that blobs of its kind have.
func (c *call) newBlob(known []string) (n catalog.New, err error) {
	if n.Headers, err = c.blobHeaders(c.op.Comp == ""); err != nil {
		return n, err
	}
	if n.Metadata, err = c.metadata(); err != nil {
		return n, err
	}
	if n.Tags, err = c.tags(); err != nil {
		return n, err
	}
	n.Tier, err = c.tier(known)
	return n, err
}

// blobHeaders reads the headers that the blob will be served with. Where the
// body is the blob, all but the MD5 may be sent under their plain names too.
func (c *call) blobHeaders(whole bool) (catalog.Headers, error) {
	h := c.r.Header
	either := func(name string) string {
		if special := h.Get("x-ms-blob-" + name); special != "" || !whole {
			return special
		}
		return h.Get(name)
	}
	b := catalog.Headers{
		ContentType: either("Content-Type"), ContentEncoding: either("Content-Encoding"), ContentLanguage: either("Content-Language"),
		ContentDisposition: h.Get("x-ms-blob-content-disposition"), CacheControl: either("Cache-Control"),
	}
	var err error
	b.ContentMD5, err = md5Header(h, "x-ms-blob-content-md5")
	return b, err
}

// The tiers of block blobs, and those of page blobs, which mean nothing here
// and are kept. Append blobs have none.
var (
	blockTiers = []string{"Hot", "Cool", "Cold", "Archive"}
	pageTiers  = []string{"P4", "P6", "P10", "P15", "P20", "P30", "P40", "P50", "P60", "P70", "P80"}
)

// tier reads the tier; empty if it is not there.
func (c *call) tier(known []string) (string, error) {
	const name = "x-ms-access-tier"
	text := c.r.Header.Get(name)
	if text == "" {
		return "", nil
	}
	for _, tier := range known {
		if strings.EqualFold(tier, text) {
			return tier, nil
		}
	}
	if len(known) == 0 {
		return "", badHeader(name, "a blob of this type has no tier")
	}
	return "", badHeader(name, "it must be one of %s", strings.Join(known, ", "))
}

// maxMetadata is how many bytes names and values may have together.
const maxMetadata = 8 << 10

const metadataPrefix = "X-Ms-Meta-" // in canonical form

// metadataName is what can be the name of a property in C#, in ASCII.
var metadataName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// metadata reads the x-ms-meta headers; nil if there are none. Names are in lower
// case: net/http does not keep the spelling that was sent.
func (c *call) metadata() (map[string]string, error) {
	var found map[string]string
	size := 0
	for header, values := range c.r.Header {
		name, is := strings.CutPrefix(header, metadataPrefix)
		if !is {
			continue
		}
		value := strings.Join(values, ",")
		if err := validateMetadata(name, value); err != nil {
			return nil, err
		}
		if size += len(name) + len(value); size > maxMetadata {
			return nil, azerr.New(azerr.MetadataTooLarge)
		}
		if found == nil {
			found = map[string]string{}
		}
		found[strings.ToLower(name)] = value
	}
	return found, nil
}

func validateMetadata(name, value string) error {
	switch {
	case name == "":
		return azerr.New(azerr.EmptyMetadataKey)
	case !metadataName.MatchString(name):
		return azerr.New(azerr.InvalidMetadata)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return azerr.New(azerr.InvalidMetadata).With("The value of the metadata %q is not plain text.", name)
	}
	return nil
}

// setMetadata writes the x-ms-meta headers, in lower case, because clients use the
// names as they come.
func setMetadata(h http.Header, metadata map[string]string) {
	for name, value := range metadata {
		h["x-ms-meta-"+name] = []string{value}
	}
}

// tags reads x-ms-tags, which is written as a query; nil if it is not there.
func (c *call) tags() (map[string]string, error) {
	const name = "x-ms-tags"
	text := c.r.Header.Get(name)
	if text == "" {
		return nil, nil
	}
	if err := c.authorizeTags("Setting tags"); err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(text, "&") {
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(key)
		value, err2 := url.QueryUnescape(value)
		if err != nil || err2 != nil {
			return nil, badHeader(name, "it must be key=value&key=value, escaped as in a query")
		}
		if err := addTag(tags, key, value); err != nil {
			return nil, err
		}
	}
	return tags, nil
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

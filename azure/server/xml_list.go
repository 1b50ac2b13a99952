package server

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leasehold/leasehold/azure/catalog"
)

// xmlWriter writes a document element by element: lists have thousands of entries,
// and which elements they have depends on the request.
type xmlWriter struct{ b bytes.Buffer }

// newXML starts a document. Attributes are pairs of name and value.
func newXML(root string, attributes ...string) *xmlWriter {
	x := &xmlWriter{}
	x.b.WriteString(xmlHead + "<" + root)
	for i := 0; i+1 < len(attributes); i += 2 {
		x.b.WriteString(" " + attributes[i] + `="`)
		_ = xml.EscapeText(&x.b, []byte(attributes[i+1])) // quotes too
		x.b.WriteByte('"')
	}
	x.b.WriteByte('>')
	return x
}

func (x *xmlWriter) bytes() []byte     { return x.b.Bytes() }
func (x *xmlWriter) open(name string)  { x.b.WriteString("<" + name + ">") }
func (x *xmlWriter) close(name string) { x.b.WriteString("</" + name + ">") }

// text writes characters; those that XML cannot represent become U+FFFD. It
// escapes only what it must, by name: some clients do not know numbers such as the
// &#39; that encoding/xml writes.
func (x *xmlWriter) text(s string) {
	for _, r := range s {
		switch {
		case r == '&':
			x.b.WriteString("&amp;")
		case r == '<':
			x.b.WriteString("&lt;")
		case r == '>':
			x.b.WriteString("&gt;")
		case representable(r):
			x.b.WriteRune(r)
		default:
			x.b.WriteRune('\uFFFD')
		}
	}
}

func (x *xmlWriter) element(name, value string) {
	x.open(name)
	x.text(value)
	x.close(name)
}

// some writes an element unless it would be empty.
func (x *xmlWriter) some(name, value string) {
	if value != "" {
		x.element(name, value)
	}
}

// name writes the name of a blob, escaped as in a URL where XML cannot represent
// it.
func (x *xmlWriter) name(element, name string) {
	if representableText(name) {
		x.element(element, name)
		return
	}
	x.b.WriteString("<" + element + ` Encoded="true">`)
	x.text(url.PathEscape(name))
	x.close(element)
}

// representableText reports whether readers of XML get these characters as they
// are. They make a line feed of a carriage return.
func representableText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !representable(r) })
}

func representable(r rune) bool {
	return (r >= ' ' || r == '\t' || r == '\n') && r != 0xFFFE && r != 0xFFFF
}

func (x *xmlWriter) prefix(name string) {
	x.open("BlobPrefix")
	x.name("Name", name)
	x.close("BlobPrefix")
}

// item writes a blob or a snapshot.
func (x *xmlWriter) item(i *catalog.Item, include map[string]bool) {
	x.open("Blob")
	x.name("Name", i.Blob)
	if i.IsSnapshot() {
		x.element("Snapshot", i.Snapshot.String())
	}
	x.open("Properties")
	x.itemProperties(i)
	if include["copy"] && i.Copy != nil {
		x.copied(i.Copy)
	}
	x.close("Properties")
	if include["metadata"] {
		x.metadata(i.Metadata)
	}
	if include["tags"] && len(i.Tags) > 0 {
		x.tags(i.Tags)
	}
	x.close("Blob")
}

func (x *xmlWriter) itemProperties(i *catalog.Item) {
	x.element("Creation-Time", httpTime(i.Created))
	x.element("Last-Modified", httpTime(i.Ticks))
	x.element("Etag", strings.Trim(i.ETag(), `"`))
	x.element("Content-Length", strconv.FormatInt(i.Size, 10))
	if i.Untyped {
		x.element("Content-Type", "")
	} else {
		x.element("Content-Type", cmp.Or(i.ContentType, defaultType))
	}
	x.element("Content-Encoding", i.ContentEncoding)
	x.element("Content-Language", i.ContentLanguage)
	x.element("Content-MD5", base64Of(i.ContentMD5))
	x.element("Cache-Control", i.CacheControl)
	x.element("Content-Disposition", i.ContentDisposition)
	x.element("BlobType", i.Kind.String())
	if i.Kind == catalog.Page {
		x.element("x-ms-blob-sequence-number", strconv.FormatInt(i.Sequence, 10))
	}
	x.tier(i)
	if !i.IsSnapshot() {
		x.lease(i.Lease)
	}
	if i.Sealed {
		x.element("Sealed", "true")
	}
	if len(i.Tags) > 0 {
		x.element("TagCount", strconv.Itoa(len(i.Tags)))
	}
	x.element("ServerEncrypted", "true")
}

func (x *xmlWriter) tier(i *catalog.Item) {
	if i.Kind != catalog.Block && i.Tier == "" {
		return
	}
	x.element("AccessTier", cmp.Or(i.Tier, "Hot"))
	if i.Tier == "" {
		x.element("AccessTierInferred", "true")
	}
	if i.TierChanged != 0 {
		x.element("AccessTierChangeTime", httpTime(i.TierChanged))
	}
}

func (x *xmlWriter) lease(v catalog.LeaseView) {
	x.some("LeaseStatus", v.Status)
	x.some("LeaseState", v.State)
	x.some("LeaseDuration", v.Duration)
}

func (x *xmlWriter) copied(k *catalog.Copied) {
	x.element("CopyId", k.ID)
	x.element("CopySource", k.Source)
	x.element("CopyStatus", k.Status)
	x.element("CopyProgress", k.Progress)
	if k.Completed != 0 {
		x.element("CopyCompletionTime", httpTime(k.Completed))
	}
	x.some("CopyStatusDescription", k.Incomplete)
}

// metadata writes names as elements: they are identifiers.
func (x *xmlWriter) metadata(m map[string]string) {
	x.open("Metadata")
	for _, name := range slices.Sorted(maps.Keys(m)) {
		x.element(name, m[name])
	}
	x.close("Metadata")
}

func (x *xmlWriter) tags(tags map[string]string) {
	x.open("Tags")
	x.tagSet(tags)
	x.close("Tags")
}

func (x *xmlWriter) tagSet(tags map[string]string) {
	x.open("TagSet")
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		x.open("Tag")
		x.element("Key", key)
		x.element("Value", tags[key])
		x.close("Tag")
	}
	x.close("TagSet")
}

func (x *xmlWriter) container(k *catalog.Container, include map[string]bool) {
	x.open("Container")
	x.element("Name", k.Container)
	x.open("Properties")
	x.element("Last-Modified", httpTime(k.Ticks))
	x.element("Etag", k.Ticks.ETag())
	x.lease(k.Lease)
	x.some("PublicAccess", k.Public)
	x.element("DefaultEncryptionScope", "$account-encryption-key")
	x.element("DenyEncryptionScopeOverride", "false")
	x.element("HasImmutabilityPolicy", "false")
	x.element("HasLegalHold", "false")
	x.element("ImmutableStorageWithVersioningEnabled", "false")
	x.close("Properties")
	if include["metadata"] {
		x.metadata(k.Metadata)
	}
	x.close("Container")
}

package catalog

import (
	"cmp"
	"crypto/rand"
	"fmt"

	"github.com/leasehold/leasehold/azure/azerr"
)

// makeCopy returns the item that the copy will be.
func (e *edit) makeCopy(source *Item, r CopyRequest) *Item {
	n, kind := r.New, source.Kind
	if r.AsBlock {
		kind = Block
	}
	if n.Metadata == nil {
		n.Metadata = source.Metadata
	}
	if r.KeepTags && len(n.Tags) == 0 {
		n.Tags = source.Tags
	}
	if r.KeepHeaders {
		n.Headers = n.Headers.or(source.Headers)
	}
	if n.ContentMD5 == nil {
		n.ContentMD5 = source.ContentMD5 // the content is the same
	}
	i := e.make(kind, n)
	i.Size = source.Size
	if kind == source.Kind {
		i.Sequence, i.Blocks = source.Sequence, source.Blocks
	}
	i.Sealed = kind == Append && source.Sealed
	if kind == Append && r.Seal != nil {
		i.Sealed = *r.Seal
	}
	i.Sparse = kind == Block && (source.Kind == Page || source.Sparse)
	if !r.AsBlock {
		i.Copy = &Copied{
			ID: newCopyID(), Source: r.SourceURL, Status: "success",
			Progress: fmt.Sprintf("%d/%d", i.Size, i.Size), Completed: i.Ticks,
		}
	}
	return i
}

// or returns the headers, and the others where there are none.
func (h Headers) or(others Headers) Headers {
	if h.ContentMD5 == nil {
		h.ContentMD5 = others.ContentMD5
	}
	h.Untyped = h.ContentType == "" && others.Untyped
	h.ContentType = cmp.Or(h.ContentType, others.ContentType)
	h.ContentEncoding = cmp.Or(h.ContentEncoding, others.ContentEncoding)
	h.ContentLanguage = cmp.Or(h.ContentLanguage, others.ContentLanguage)
	h.ContentDisposition = cmp.Or(h.ContentDisposition, others.ContentDisposition)
	h.CacheControl = cmp.Or(h.CacheControl, others.CacheControl)
	return h
}

// newCopyID makes the id of a copy: a random UUID.
func newCopyID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// refuseCopy says what the destination has against it.
func (e *edit) refuseCopy(source *Item, r CopyRequest) error {
	if !r.AsBlock && e.exists() && e.item.Kind != source.Kind {
		return azerr.New(azerr.InvalidBlobType).With("a %v cannot be copied onto a %v", source.Kind, e.item.Kind)
	}
	return nil
}

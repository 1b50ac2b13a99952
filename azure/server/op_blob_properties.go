package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// setBlobProperties changes the headers that a blob is served with, all of them:
// what is not sent is cleared. Of a page blob it changes the size or the sequence
// number instead, and then headers stay unless some are sent.
func (s *Server) setBlobProperties(c *call) error {
	p, err := c.newProperties()
	if err != nil {
		return err
	}
	var changed *catalog.Item
	switch {
	case p.size != nil && (p.action != "" || p.some):
		return azerr.New(azerr.NotImplemented).With("This server changes the size of a page blob and its other properties in two requests.")
	case p.size != nil:
		changed, err = s.catalog.Resize(c.r.Context(), c.ref, *p.size, c.access)
	default:
		changed, err = s.catalog.Modify(c.r.Context(), c.ref, c.access, true, p.set)
	}
	if err != nil {
		return err
	}
	return c.answerChanged(changed)
}

// newProperties are what Set Blob Properties may change.
type newProperties struct {
	headers catalog.Headers
	some    bool // at least one header is sent

	// Of page blobs only.
	size, number *int64
	action       string // how the sequence number changes
}

func (c *call) newProperties() (p newProperties, err error) {
	if p.headers, err = c.blobHeaders(false); err != nil {
		return p, err
	}
	h := p.headers
	p.headers.Untyped = h.ContentType == ""
	p.some = h.ContentType+h.ContentEncoding+h.ContentLanguage+h.ContentDisposition+h.CacheControl != "" || h.ContentMD5 != nil
	var r headerReader
	p.size = r.number(c.r.Header, "X-Ms-Blob-Content-Length")
	p.number = r.sequence(c.r.Header, "X-Ms-Blob-Sequence-Number")
	if r.err != nil {
		return p, r.err
	}
	p.action = c.r.Header.Get("x-ms-sequence-number-action")
	if p.number != nil && p.action == "" {
		return p, noHeader("x-ms-sequence-number-action")
	}
	return p, nil
}

// set changes all but the size.
func (p newProperties) set(i *catalog.Item) error {
	if err := readable(i); err != nil {
		return err
	}
	if p.action == "" || p.some {
		i.Headers = p.headers
	}
	if p.action == "" {
		return nil
	}
	return i.SetSequence(p.action, p.number)
}

// answerChanged answers a write that is no new content.
func (c *call) answerChanged(i *catalog.Item) error {
	setWritten(c.header(), i)
	if i.Kind == catalog.Page {
		c.header().Set("X-Ms-Blob-Sequence-Number", strconv.FormatInt(i.Sequence, 10))
	}
	return c.answer(http.StatusOK)
}

func (s *Server) getBlobMetadata(c *call) error {
	found, err := s.catalog.Head(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	setVersion(c.header(), found.Ticks)
	setMetadata(c.header(), found.Metadata)
	return c.answer(http.StatusOK)
}

func (s *Server) setBlobMetadata(c *call) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	changed, err := s.catalog.Modify(c.r.Context(), c.ref, c.access, true, func(i *catalog.Item) error {
		i.Metadata = metadata
		return readable(i)
	})
	if err != nil {
		return err
	}
	return c.answerChanged(changed)
}

// setBlobTier moves a blob or a snapshot to another tier. All tiers are on the
// same disk; only Archive means something: what is there cannot be read before it
// is moved back, and a snapshot never is.
func (s *Server) setBlobTier(c *call) error {
	if c.r.Header.Get("x-ms-access-tier") == "" {
		return noHeader("x-ms-access-tier")
	}
	tier, err := c.tier(slices.Concat(blockTiers, pageTiers))
	if err != nil {
		return err
	}
	_, err = s.catalog.Modify(c.r.Context(), c.ref, c.access, false, func(i *catalog.Item) error {
		if premium := strings.HasPrefix(tier, "P"); i.Kind == catalog.Append || premium != (i.Kind == catalog.Page) {
			return azerr.New(azerr.AccessTierNotSupportedForBlobType)
		}
		if i.IsSnapshot() && i.Tier == "Archive" && tier != "Archive" {
			return archivedSnapshot()
		}
		i.Tier, i.TierChanged = tier, catalog.TicksOf(c.started)
		return nil
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK)
}

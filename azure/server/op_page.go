package server

import (
	"net/http"
	"strconv"

	"github.com/leasehold/leasehold/azure/catalog"
)

// putPages writes the body over a range of a page blob.
func (s *Server) putPages(c *call) error {
	return s.writePages(c, func(at span, a catalog.Access) (delivery, error) {
		if c.r.ContentLength >= 0 && c.r.ContentLength != at.n {
			return delivery{}, badHeader("Content-Length", "the range has %d bytes", at.n)
		}
		return s.receive(c, a, maxPages)
	})
}

// clearPages makes a range of a page blob zeros.
func (s *Server) clearPages(c *call) error {
	return s.writePages(c, func(span, catalog.Access) (delivery, error) {
		if c.r.ContentLength != 0 {
			return delivery{}, badHeader("Content-Length", "clearing takes no body")
		}
		return delivery{}, nil
	})
}

// writePages gives a range of a page blob new content, or none.
func (s *Server) writePages(c *call, receive func(span, catalog.Access) (delivery, error)) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	at, err := c.pageRange()
	if err != nil {
		return err
	}
	d, err := receive(at, access)
	if err != nil {
		return err
	}
	changed, err := s.catalog.PutPages(c.r.Context(), c.ref, at.offset, at.n, d.Upload, access)
	if err != nil {
		return err
	}
	setSome(c.header(), d.name, d.sum)
	c.header().Set("X-Ms-Blob-Sequence-Number", strconv.FormatInt(changed.Sequence, 10))
	return c.written(changed)
}

// listPages tells which ranges of a page blob were written, or which differ
// from an earlier snapshot.
func (s *Server) listPages(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	since, err := snapshotIn(c.query, "prevsnapshot")
	if err != nil {
		return err
	}
	if c.query.Get("marker") != "" {
		return badQuery("marker", "all ranges are in the first answer, which has none")
	}
	first, last, found := c.byteRange()
	if !found || last == openEnd {
		last = catalog.MaxPageBlob
	}
	item, ranges, err := s.catalog.Pages(c.r.Context(), c.ref, first, last+1, since, access)
	if err != nil {
		return err
	}
	setVersion(c.header(), item.Ticks)
	c.header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(item.Size, 10))
	return c.answerXML(http.StatusOK, pagesOf(ranges))
}

package server

import (
	"net/http"
	"strconv"

	"github.com/leasehold/leasehold/azure/catalog"
)

// putPages writes a range of a page blob: the body, a range of another blob, or
// zeros (Clear Page).
func (s *Server) putPages(c *call) error {
	at, err := c.pageRange()
	if err != nil {
		return err
	}
	u, err := s.uploadPages(c, at)
	if err != nil {
		return err
	}
	changed, err := s.catalog.PutPages(c.r.Context(), c.ref, at.offset, at.n, u.Upload, c.access)
	if err != nil {
		return err
	}
	setSome(c.header(), u.header, u.checksum)
	c.header().Set("X-Ms-Blob-Sequence-Number", strconv.FormatInt(changed.Sequence, 10))
	return c.answerCreated(changed)
}

// uploadPages receives the content of a range; nothing for Clear Page.
func (s *Server) uploadPages(c *call, at span) (upload, error) {
	switch {
	case c.fromURL():
		return s.uploadSource(c, maxPages)
	case c.op.Value == "clear" && c.r.ContentLength != 0:
		return upload{}, badHeader("Content-Length", "clearing takes no body")
	case c.op.Value == "clear":
		return upload{}, nil
	case c.r.ContentLength >= 0 && c.r.ContentLength != at.n:
		return upload{}, badHeader("Content-Length", "the range has %d bytes", at.n)
	}
	return s.uploadBody(c, maxPages)
}

// getPageRanges lists the ranges of a page blob that were written, or that differ
// from an earlier snapshot.
func (s *Server) getPageRanges(c *call) error {
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
	item, ranges, err := s.catalog.Pages(c.r.Context(), c.ref, first, last+1, since, c.access)
	if err != nil {
		return err
	}
	setVersion(c.header(), item.Ticks)
	c.header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(item.Size, 10))
	return c.answerXML(http.StatusOK, xmlPages(ranges))
}

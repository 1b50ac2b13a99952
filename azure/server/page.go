package server

import (
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

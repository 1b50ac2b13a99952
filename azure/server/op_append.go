package server

import (
	"net/http"
	"strconv"

	"github.com/leasehold/leasehold/azure/catalog"
)

// appendBlock adds the body to an append blob.
func (s *Server) appendBlock(c *call) error {
	return s.append(c, func(a catalog.Access) (delivery, error) { return s.receiveSome(c, a, maxAppend) })
}

// append adds what comes in.
func (s *Server) append(c *call, receive func(catalog.Access) (delivery, error)) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	d, err := receive(access)
	if err != nil {
		return err
	}
	grown, offset, err := s.catalog.AppendBlock(c.r.Context(), c.ref, d.Upload, access)
	if err != nil {
		return err
	}
	h := c.header()
	h.Set(d.name, d.sum)
	h.Set("X-Ms-Blob-Append-Offset", strconv.FormatInt(offset, 10))
	h.Set("X-Ms-Blob-Committed-Block-Count", strconv.Itoa(grown.Blocks))
	return c.written(grown)
}

// seal makes an append blob take no more.
func (s *Server) seal(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	sealed, err := s.catalog.Seal(c.r.Context(), c.ref, access)
	if err != nil {
		return err
	}
	setWritten(c.header(), sealed)
	c.header().Set("X-Ms-Blob-Sealed", "true")
	return c.answer(http.StatusOK)
}

package server

import (
	"net/http"
	"strconv"
)

// appendBlock adds the body, or a range of another blob, to an append blob.
func (s *Server) appendBlock(c *call) error {
	u, err := s.uploadBlock(c, maxAppend)
	if err != nil {
		return err
	}
	changed, offset, err := s.catalog.AppendBlock(c.r.Context(), c.ref, u.Upload, c.access)
	if err != nil {
		return err
	}
	h := c.header()
	h.Set(u.header, u.checksum)
	h.Set("X-Ms-Blob-Append-Offset", strconv.FormatInt(offset, 10))
	h.Set("X-Ms-Blob-Committed-Block-Count", strconv.Itoa(changed.Blocks))
	return c.answerCreated(changed)
}

// sealBlob ends appending to an append blob.
func (s *Server) sealBlob(c *call) error {
	sealed, err := s.catalog.Seal(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	setWritten(c.header(), sealed)
	c.header().Set("X-Ms-Blob-Sealed", "true")
	return c.answer(http.StatusOK)
}

package server

import (
	"net/http"

	"github.com/leasehold/leasehold/azure/catalog"
)

// putBlockBlob makes a block blob of the body, or of another blob if the request
// names one. The blob's own MD5 is that of the body, so it is checked too.
func (s *Server) putBlockBlob(c *call) error {
	if c.fromURL() {
		return s.putBlobFromURL(c)
	}
	n, err := c.newBlob(blockTiers)
	if err != nil {
		return err
	}
	u, err := s.uploadBody(c, maxPut)
	if err != nil {
		return err
	}
	if err := (checksums{md5: n.ContentMD5}).matchUpload(u.Upload); err != nil {
		return err
	}
	crc := u.CRC // PutBlob owns the upload from here on
	created, err := s.catalog.PutBlob(c.r.Context(), c.ref, n, u.Upload, c.access)
	if err != nil {
		return err
	}
	c.header().Set("Content-Md5", base64Of(created.ContentMD5))
	c.header().Set("X-Ms-Content-Crc64", crcText(crc))
	return c.answerCreated(created)
}

// putAppendBlob makes an empty append blob.
func (s *Server) putAppendBlob(c *call) error {
	return s.putEmptyBlob(c, catalog.Append, 0, 0, nil)
}

// putPageBlob makes a page blob of zeros.
func (s *Server) putPageBlob(c *call) error {
	var r headerReader
	size := r.number(c.r.Header, "X-Ms-Blob-Content-Length")
	sequence := r.sequence(c.r.Header, "X-Ms-Blob-Sequence-Number")
	switch {
	case r.err != nil:
		return r.err
	case size == nil:
		return noHeader("X-Ms-Blob-Content-Length")
	case sequence == nil:
		sequence = new(int64)
	}
	return s.putEmptyBlob(c, catalog.Page, *size, *sequence, pageTiers)
}

func (s *Server) putEmptyBlob(c *call, kind catalog.Kind, size, sequence int64, tiers []string) error {
	if c.r.ContentLength != 0 {
		return badHeader("Content-Length", "an append or page blob is made empty; content is added later")
	}
	n, err := c.newBlob(tiers)
	if err != nil {
		return err
	}
	created, err := s.catalog.PutEmpty(c.r.Context(), c.ref, kind, size, sequence, n, c.access)
	if err != nil {
		return err
	}
	return c.answerCreated(created)
}

// answerCreated answers a write that made a new version.
func (c *call) answerCreated(i *catalog.Item) error {
	setWritten(c.header(), i)
	return c.answer(http.StatusCreated)
}

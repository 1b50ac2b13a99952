package server

import (
	"net/http"

	"github.com/leasehold/leasehold/azure/catalog"
)

// putBlock makes a block blob of the body, or of another blob if the request
// names one. The blob's own MD5 is that of the body, so it is checked too.
func (s *Server) putBlock(c *call) error {
	if c.r.Header.Get("x-ms-copy-source") != "" {
		return s.putFromURL(c)
	}
	n, access, err := c.newAndAccess(tiers)
	if err != nil {
		return err
	}
	told := c.createOnly(&access)
	d, err := s.receive(c, access, maxPut)
	if err != nil {
		return told(err)
	}
	if err := (sums{md5: n.ContentMD5}).matchUpload(d.Upload); err != nil {
		return err
	}
	crc := d.CRC // of the upload, which PutBlob takes over
	made, err := s.catalog.PutBlob(c.r.Context(), c.ref, n, d.Upload, access)
	if err != nil {
		return told(err)
	}
	c.header().Set("Content-Md5", base64Of(made.ContentMD5))
	c.header().Set("X-Ms-Content-Crc64", crcText(crc))
	return c.written(made)
}

// putAppend makes an append blob, which begins empty.
func (s *Server) putAppend(c *call) error { return s.putEmpty(c, catalog.Append, 0, 0, nil) }

// putPage makes a page blob, which begins as zeros.
func (s *Server) putPage(c *call) error {
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
	return s.putEmpty(c, catalog.Page, *size, *sequence, pageTiers)
}

func (s *Server) putEmpty(c *call, kind catalog.Kind, size, sequence int64, tiers []string) error {
	if c.r.ContentLength != 0 {
		return badHeader("Content-Length", "an append or page blob is made empty; content is added later")
	}
	n, access, err := c.newAndAccess(tiers)
	if err != nil {
		return err
	}
	told := c.createOnly(&access)
	made, err := s.catalog.PutEmpty(c.r.Context(), c.ref, kind, size, sequence, n, access)
	if err != nil {
		return told(err)
	}
	return c.written(made)
}

// written answers a write that made a new version.
func (c *call) written(i *catalog.Item) error {
	setWritten(c.header(), i)
	return c.answer(http.StatusCreated)
}

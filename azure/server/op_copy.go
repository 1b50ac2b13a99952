package server

import (
	"net/http"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// copyBlob makes a blob of another one, or of a snapshot. The copy is complete
// before the answer, also where Azure would copy afterwards.
func (s *Server) copyBlob(c *call) error {
	r, err := s.copyRequest(c)
	if err != nil {
		return err
	}
	r.KeepHeaders = true
	r.FromURL = c.r.Header.Get("x-ms-requires-sync") == "true"
	if r.Seal, err = c.seal(); err != nil {
		return err
	}
	created, err := s.copy(c, r)
	if err != nil {
		return err
	}
	h := c.header()
	setVersion(h, created.Ticks)
	h.Set("X-Ms-Copy-Id", created.Copy.ID)
	h.Set("X-Ms-Copy-Status", created.Copy.Status)
	if r.FromURL {
		setMD5(h, "Content-Md5", created)
	}
	return c.answer(http.StatusAccepted)
}

// seal reads whether the copy of an append blob is sealed; nil: as its source is.
func (c *call) seal() (*bool, error) {
	const name = "x-ms-seal-blob"
	text := c.r.Header.Get(name)
	if text == "" {
		return nil, nil
	}
	seal := strings.EqualFold(text, "true")
	if !seal && !strings.EqualFold(text, "false") {
		return nil, badHeader(name, "it must be true or false")
	}
	return &seal, nil
}

// putBlobFromURL makes a block blob of another blob's content, with headers of its
// own where some are sent.
func (s *Server) putBlobFromURL(c *call) error {
	if c.r.ContentLength != 0 {
		return badHeader("Content-Length", "the content comes from %s", sourceHeader)
	}
	r, err := s.copyRequest(c)
	if err != nil {
		return err
	}
	if r.Headers, err = c.blobHeaders(false); err != nil {
		return err
	}
	r.KeepHeaders = c.r.Header.Get("x-ms-copy-source-blob-properties") != "false"
	r.AsBlock, r.FromURL = true, true
	created, err := s.copy(c, r)
	if err != nil {
		return err
	}
	setMD5(c.header(), "Content-Md5", created)
	return c.answerCreated(created)
}

// copy copies after comparing the source with its checksum.
func (s *Server) copy(c *call, r catalog.CopyRequest) (*catalog.Item, error) {
	if err := s.verifySource(c, &r); err != nil {
		return nil, err
	}
	return s.catalog.Copy(c.r.Context(), c.ref, r, c.access)
}

// copyRequest reads what all copies have: the source, its conditions, and what
// the copy gets of its own.
func (s *Server) copyRequest(c *call) (r catalog.CopyRequest, err error) {
	from, err := s.source(c)
	if err != nil {
		return r, err
	}
	r.Source, r.SourceURL = from.ref, from.url
	if r.SourceIf, err = c.sourceConditions(); err != nil {
		return r, err
	}
	if r.SourceLease, err = c.leaseID("X-Ms-Source-Lease-Id"); err != nil {
		return r, err
	}
	if r.Metadata, err = c.metadata(); err != nil {
		return r, err
	}
	if r.Tags, err = c.tags(); err != nil {
		return r, err
	}
	if r.Tier, err = c.tier(blockTiers); err != nil {
		return r, err
	}
	r.KeepTags, err = c.keepTags(r.Tags)
	return r, err
}

// keepTags reads whether the copy gets the source's tags. authorizeSource has
// checked that the caller may read them.
func (c *call) keepTags(own map[string]string) (bool, error) {
	switch c.r.Header.Get(tagOption) {
	case "", "REPLACE":
		return false, nil
	case "COPY":
		if own != nil {
			return false, azerr.New(azerr.BothUserTagsAndSourceTagsCopyPresentException)
		}
		return true, c.authorizeTags("Setting tags")
	}
	return false, badHeader(tagOption, "it must be REPLACE or COPY")
}

// abortCopy refuses: no copy is ever pending.
func (s *Server) abortCopy(c *call) error {
	const name = "copyid"
	id := c.query.Get(name)
	if id == "" {
		return noQuery(name)
	}
	if _, err := leasehold.ParseID(id); err != nil {
		return badQuery(name, "it is no GUID")
	}
	return s.catalog.AbortCopy(c.r.Context(), c.ref, c.access)
}

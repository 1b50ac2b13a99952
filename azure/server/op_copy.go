package server

import (
	"net/http"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// copyBlob makes a blob of another one, or of a snapshot. It is done when it is
// answered, also where Azure would do it afterwards.
func (s *Server) copyBlob(c *call) error {
	r, err := s.copyRequest(c)
	if err != nil {
		return err
	}
	r.KeepHeaders = true
	r.FromURL = c.r.Header.Get("x-ms-requires-sync") == "true"
	if r.Seal, err = c.sealing(); err != nil {
		return err
	}
	made, err := s.copy(c, r)
	if err != nil {
		return err
	}
	h := c.header()
	setVersion(h, made.Ticks)
	h.Set("X-Ms-Copy-Id", made.Copy.ID)
	h.Set("X-Ms-Copy-Status", made.Copy.Status)
	if r.FromURL {
		setMD5(h, "Content-Md5", made)
	}
	return c.answer(http.StatusAccepted)
}

// sealing reads whether the copy of an append blob is sealed; nil: as its source
// is.
func (c *call) sealing() (*bool, error) {
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

// putFromURL makes a block blob of another blob's content, with headers of its
// own where some are sent.
func (s *Server) putFromURL(c *call) error {
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
	made, err := s.copy(c, r)
	if err != nil {
		return err
	}
	setMD5(c.header(), "Content-Md5", made)
	return c.written(made)
}

// copy carries a copy out.
func (s *Server) copy(c *call, r catalog.CopyRequest) (*catalog.Item, error) {
	access, err := c.access()
	if err != nil {
		return nil, err
	}
	if err := s.checkSource(c, &r); err != nil {
		return nil, err
	}
	told := c.createOnly(&access)
	made, err := s.catalog.Copy(c.r.Context(), c.ref, r, access)
	return made, told(err)
}

// copyRequest reads what all copies have: the source, its conditions, and what
// the copy gets of its own.
func (s *Server) copyRequest(c *call) (r catalog.CopyRequest, err error) {
	from, err := s.source(c)
	if err != nil {
		return r, err
	}
	r.Source, r.SourceURL = from.Ref, from.shown
	if r.SourceIf, err = c.sourceConditions(); err != nil {
		return r, err
	}
	if r.SourceLease, err = c.leaseID("X-Ms-Source-Lease-Id"); err != nil {
		return r, err
	}
	if r.Metadata, err = c.metadata(); err != nil {
		return r, err
	}
	if r.Tags, err = c.tagsHeader(); err != nil {
		return r, err
	}
	if r.Tier, err = c.tier(tiers); err != nil {
		return r, err
	}
	r.KeepTags, err = c.keepTags(r.Tags)
	return r, err
}

// keepTags reads whether the copy gets the source's tags. That the caller may
// read them, mayRead has seen to.
func (c *call) keepTags(own map[string]string) (bool, error) {
	const name = tagOption
	switch c.r.Header.Get(name) {
	case "", "REPLACE":
		return false, nil
	case "COPY":
		if own != nil {
			return false, azerr.New(azerr.BothUserTagsAndSourceTagsCopyPresentException)
		}
		return true, c.mayTag("Setting tags")
	}
	return false, badHeader(name, "it must be REPLACE or COPY")
}

// abortCopy refuses: there is never a copy that is not done.
func (s *Server) abortCopy(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	const name = "copyid"
	id := c.query.Get(name)
	if id == "" {
		return azerr.New(azerr.MissingRequiredQueryParameter).With("The query parameter %s is missing.", name)
	}
	if _, err := leasehold.ParseID(id); err != nil {
		return badQuery(name, "it is no GUID")
	}
	return s.catalog.AbortCopy(c.r.Context(), c.ref, access)
}

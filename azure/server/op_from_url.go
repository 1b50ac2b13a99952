package server

import (
	"context"
	"crypto/md5"
	"errors"
	"io"
	"net/http"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// fromURL reports whether the content comes from another blob instead of the body.
func (c *call) fromURL() bool { return first(c.r.Header, "X-Ms-Copy-Source") != "" }

// uploadSource receives a range of the source, as uploadBody receives a body.
func (s *Server) uploadSource(c *call, limit int64) (upload, error) {
	if c.r.ContentLength != 0 {
		return upload{}, badHeader("Content-Length", "the content comes from %s", sourceHeader)
	}
	k, err := checksumsIn(c.r.Header, "x-ms-source-content-md5", "x-ms-source-content-crc64")
	if err != nil {
		return upload{}, err
	}
	found, err := s.openSource(c)
	if err != nil {
		return upload{}, err
	}
	defer found.Close()
	at, err := c.sourceRange(found.Size)
	if err != nil {
		return upload{}, err
	}
	piped := pipe(c.r.Context(), found, at)
	defer piped.Close()
	u, err := s.catalog.Receive(c.r.Context(), c.ref, c.access, piped, at.n, limit)
	if err != nil {
		return upload{}, err
	}
	return k.verify(u)
}

// pipedContent is content that is read while it is written.
type pipedContent struct {
	*io.PipeReader
	done chan struct{}
}

func pipe(ctx context.Context, from *catalog.Content, at span) *pipedContent {
	r, w := io.Pipe()
	p := &pipedContent{r, make(chan struct{})}
	go func() {
		defer close(p.done)
		w.CloseWithError(from.WriteTo(ctx, w, at.offset, at.n))
	}()
	return p
}

// Close waits for the writer, which needs the content until it ends.
func (p *pipedContent) Close() error {
	err := p.PipeReader.Close()
	<-p.done
	return err
}

// openSource opens the source for reading.
func (s *Server) openSource(c *call) (*catalog.Content, error) {
	from, err := s.source(c)
	if err != nil {
		return nil, err
	}
	conditions, err := c.sourceConditions()
	if err != nil {
		return nil, err
	}
	found, err := s.catalog.Get(c.r.Context(), from.ref, catalog.Access{If: conditions})
	if err == nil {
		if err = readable(found.Item); err != nil {
			found.Close()
		}
	}
	if err != nil {
		return nil, sourceError(err)
	}
	return found, nil
}

// sourceError is Azure's error for a source that cannot be read: only a condition
// that does not hold has a code of its own.
func sourceError(err error) error {
	var e *azerr.Error
	switch {
	case catalog.NotModified(err):
		return unverified(http.StatusNotModified, "The source has not changed.")
	case azerr.HasCode(err, azerr.ConditionNotMet):
		return azerr.New(azerr.SourceConditionNotMet)
	case errors.As(err, &e):
		return unreadable(e)
	}
	return err
}

// sourceRange reads which range of the source is meant.
func (c *call) sourceRange(size int64) (span, error) {
	const name = "x-ms-source-range"
	text := c.r.Header.Get(name)
	if text == "" {
		return span{0, size}, nil
	}
	first, last, found := parseRange(text)
	if !found {
		return span{}, badHeader(name, "it must be bytes=first-last")
	}
	return within(first, last, size)
}

// verifySource compares the whole source with the checksum that was sent, if one
// was. The version that is copied must then be the one that was compared.
func (s *Server) verifySource(c *call, r *catalog.CopyRequest) error {
	want, err := md5Header(c.r.Header, "x-ms-source-content-md5")
	if err != nil || want == nil {
		return err
	}
	found, err := s.openSource(c)
	if err != nil {
		return err
	}
	defer found.Close()
	sum := md5.New()
	if err := found.WriteTo(c.r.Context(), sum, 0, found.Size); err != nil {
		return err
	}
	r.SourceIf.Match = found.ETag()
	return checksums{md5: want}.match([md5.Size]byte(sum.Sum(nil)), 0)
}

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

// Operations that take a range of another blob instead of a body.

func (s *Server) stageFromURL(c *call) error {
	return s.stage(c, func(a catalog.Access) (delivery, error) { return s.receiveSource(c, a, maxBlock) })
}

func (s *Server) appendFromURL(c *call) error {
	return s.append(c, func(a catalog.Access) (delivery, error) { return s.receiveSource(c, a, maxAppend) })
}

func (s *Server) putPagesFromURL(c *call) error {
	return s.writePages(c, func(_ span, a catalog.Access) (delivery, error) { return s.receiveSource(c, a, maxPages) })
}

// receiveSource takes a range of the source in, as receive does with a body.
func (s *Server) receiveSource(c *call, a catalog.Access, limit int64) (delivery, error) {
	if c.r.ContentLength != 0 {
		return delivery{}, badHeader("Content-Length", "the content comes from %s", sourceHeader)
	}
	k, err := sumsOf(c.r.Header, "x-ms-source-content-md5", "x-ms-source-content-crc64")
	if err != nil {
		return delivery{}, err
	}
	found, err := s.openSource(c)
	if err != nil {
		return delivery{}, err
	}
	defer found.Close()
	at, err := c.sourceRange(found.Size)
	if err != nil {
		return delivery{}, err
	}
	content := stream(c.r.Context(), found, at)
	defer content.Close()
	u, err := s.catalog.Receive(c.r.Context(), c.ref, a, content, at.n, limit)
	if err != nil {
		return delivery{}, err
	}
	return k.deliver(u)
}

// relay is content that is read while it is written.
type relay struct {
	*io.PipeReader
	done chan struct{}
}

func stream(ctx context.Context, from *catalog.Content, at span) *relay {
	r, w := io.Pipe()
	s := &relay{r, make(chan struct{})}
	go func() {
		defer close(s.done)
		w.CloseWithError(from.WriteTo(ctx, w, at.offset, at.n))
	}()
	return s
}

// Close waits for the writer, which needs the content until it has ended.
func (s *relay) Close() error {
	err := s.PipeReader.Close()
	<-s.done
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
	found, err := s.catalog.Get(c.r.Context(), from.Ref, catalog.Access{If: conditions})
	if err == nil {
		if err = readable(found.Item); err != nil {
			found.Close()
		}
	}
	if err != nil {
		return nil, sourceFault(err)
	}
	return found, nil
}

// sourceFault says why a source cannot be read, as Azure does: only a condition
// that does not hold has a code of its own.
func sourceFault(err error) error {
	var f *azerr.Error
	switch {
	case catalog.NotModified(err):
		return unverified(http.StatusNotModified, "The source has not changed.")
	case isFault(err, azerr.ConditionNotMet):
		return azerr.New(azerr.SourceConditionNotMet)
	case errors.As(err, &f):
		return unreadable(f)
	}
	return err
}

// sourceRange reads which part of the source is meant.
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

// checkSource compares the whole source with the checksum that came along, if
// one did. What is copied then must be the version that was compared.
func (s *Server) checkSource(c *call, r *catalog.CopyRequest) error {
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
	return sums{md5: want}.match([md5.Size]byte(sum.Sum(nil)), 0)
}

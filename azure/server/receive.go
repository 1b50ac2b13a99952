package server

import (
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// What one request may carry, in bytes.
const (
	maxPut    = 5000 << 20
	maxBlock  = 4000 << 20
	maxAppend = 100 << 20
	maxPages  = 4 << 20
)

// delivery is content that has come in, whole and undamaged. Sum is the
// checksum that the answer tells of it, under that name.
type delivery struct {
	*catalog.Upload
	name, sum string
}

// receive takes the body in and compares it with the checksum that came along.
func (s *Server) receive(c *call, a catalog.Access, limit int64) (delivery, error) {
	k, err := c.sums()
	switch {
	case err != nil:
		return delivery{}, err
	case c.r.ContentLength < 0:
		return delivery{}, azerr.New(azerr.MissingContentLengthHeader)
	}
	u, err := s.catalog.Receive(c.r.Context(), c.ref, a, c.body(), c.r.ContentLength, limit)
	if err != nil {
		return delivery{}, err
	}
	return k.deliver(u)
}

func (k sums) deliver(u *catalog.Upload) (delivery, error) {
	if err := k.matchUpload(u); err != nil {
		return delivery{}, err
	}
	name, sum := k.tell(u)
	return delivery{u, name, sum}, nil
}

// receiveSome is receive for what must not be empty.
func (s *Server) receiveSome(c *call, a catalog.Access, limit int64) (delivery, error) {
	if c.r.ContentLength == 0 {
		return delivery{}, badHeader("Content-Length", "a block must not be empty")
	}
	return s.receive(c, a, limit)
}

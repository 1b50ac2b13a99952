package server

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"net/http"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
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

// sums are the checksums that a client sends along with content: one of them,
// or none.
type sums struct{ md5, crc []byte }

// sums reads those of the body.
func (c *call) sums() (sums, error) { return sumsOf(c.r.Header, "Content-MD5", "x-ms-content-crc64") }

func sumsOf(h http.Header, md5Name, crcName string) (k sums, err error) {
	if k.md5, err = md5Header(h, md5Name); err != nil {
		return k, err
	}
	if k.crc, err = sumHeader(h, crcName, 8, azerr.InvalidHeaderValue); err != nil {
		return k, err
	}
	if k.md5 != nil && k.crc != nil {
		return k, badHeader(crcName, "only one of it and %s can be sent", md5Name)
	}
	return k, nil
}

// md5Header reads a checksum; nil if it is not there.
func md5Header(h http.Header, name string) ([]byte, error) {
	return sumHeader(h, name, md5.Size, azerr.InvalidMd5)
}

func sumHeader(h http.Header, name string, size int, code string) ([]byte, error) {
	text := h.Get(name)
	if text == "" {
		return nil, nil
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) != size {
		return nil, azerr.New(code).With("The header %s is not a checksum of %d bytes in base64.", name, size)
	}
	return sum, nil
}

// match refuses content that has other checksums.
func (k sums) match(sum [md5.Size]byte, crc uint64) error {
	switch {
	case k.md5 != nil && !bytes.Equal(k.md5, sum[:]):
		return azerr.New(azerr.Md5Mismatch)
	case k.crc != nil && binary.LittleEndian.Uint64(k.crc) != crc:
		return azerr.New(azerr.Crc64Mismatch)
	}
	return nil
}

// matchBytes is match for a body at hand.
func (k sums) matchBytes(body []byte) error {
	return k.match(md5.Sum(body), content.UpdateCRC(0, body))
}

// matchUpload is match for what was received. What does not match is let go.
func (k sums) matchUpload(u *catalog.Upload) error {
	err := k.match(u.MD5, u.CRC)
	if err != nil {
		u.Discard()
	}
	return err
}

// tell names the checksum of what was received: of the kind that the client
// sent, or of the one that Azure prefers.
func (k sums) tell(u *catalog.Upload) (name, value string) {
	if k.md5 != nil {
		return "Content-Md5", base64Of(u.MD5[:])
	}
	return "X-Ms-Content-Crc64", crcText(u.CRC)
}

func crcText(crc uint64) string { return base64Of(binary.LittleEndian.AppendUint64(nil, crc)) }

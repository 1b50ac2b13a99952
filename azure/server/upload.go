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

// upload is content that was received, whole and undamaged, and the header with
// which the answer states its checksum.
type upload struct {
	*catalog.Upload
	header, checksum string
}

// uploadBody receives the body and compares it with the checksum that was sent.
func (s *Server) uploadBody(c *call, limit int64) (upload, error) {
	k, err := c.checksums()
	switch {
	case err != nil:
		return upload{}, err
	case c.r.ContentLength < 0:
		return upload{}, azerr.New(azerr.MissingContentLengthHeader)
	}
	u, err := s.catalog.Receive(c.r.Context(), c.ref, c.access, c.body(), c.r.ContentLength, limit)
	if err != nil {
		return upload{}, err
	}
	return k.verify(u)
}

// uploadBlock receives a block from the body, which must not be empty, or from
// another blob.
func (s *Server) uploadBlock(c *call, limit int64) (upload, error) {
	switch {
	case c.fromURL():
		return s.uploadSource(c, limit)
	case c.r.ContentLength == 0:
		return upload{}, badHeader("Content-Length", "a block must not be empty")
	}
	return s.uploadBody(c, limit)
}

// checksums are what a client sends along with content: one of them, or none.
type checksums struct{ md5, crc []byte }

// checksums reads those of the body.
func (c *call) checksums() (checksums, error) {
	return checksumsIn(c.r.Header, "Content-MD5", "x-ms-content-crc64")
}

func checksumsIn(h http.Header, md5Name, crcName string) (k checksums, err error) {
	if k.md5, err = md5Header(h, md5Name); err != nil {
		return k, err
	}
	if k.crc, err = checksumHeader(h, crcName, 8, azerr.InvalidHeaderValue); err != nil {
		return k, err
	}
	if k.md5 != nil && k.crc != nil {
		return k, badHeader(crcName, "only one of it and %s can be sent", md5Name)
	}
	return k, nil
}

// md5Header reads a checksum; nil if it is not there.
func md5Header(h http.Header, name string) ([]byte, error) {
	return checksumHeader(h, name, md5.Size, azerr.InvalidMd5)
}

func checksumHeader(h http.Header, name string, size int, code string) ([]byte, error) {
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
func (k checksums) match(sum [md5.Size]byte, crc uint64) error {
	switch {
	case k.md5 != nil && !bytes.Equal(k.md5, sum[:]):
		return azerr.New(azerr.Md5Mismatch)
	case k.crc != nil && binary.LittleEndian.Uint64(k.crc) != crc:
		return azerr.New(azerr.Crc64Mismatch)
	}
	return nil
}

// matchBytes is match for a body in memory.
func (k checksums) matchBytes(body []byte) error {
	return k.match(md5.Sum(body), content.UpdateCRC(0, body))
}

// matchUpload is match for what was received, which it discards on a mismatch.
func (k checksums) matchUpload(u *catalog.Upload) error {
	err := k.match(u.MD5, u.CRC)
	if err != nil {
		u.Discard()
	}
	return err
}

// verify is matchUpload. The answer states the checksum of the kind that the client
// sent, or else the one that Azure prefers.
func (k checksums) verify(u *catalog.Upload) (upload, error) {
	if err := k.matchUpload(u); err != nil {
		return upload{}, err
	}
	if k.md5 != nil {
		return upload{u, "Content-Md5", base64Of(u.MD5[:])}, nil
	}
	return upload{u, "X-Ms-Content-Crc64", crcText(u.CRC)}, nil
}

func crcText(crc uint64) string { return base64Of(binary.LittleEndian.AppendUint64(nil, crc)) }

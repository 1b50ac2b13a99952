package server

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"net/http"
	"strconv"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
)

// maxSummed is the largest range that can be sent with its checksum.
const maxSummed = 4 << 20

// getBlobProperties answers with everything about a blob but its content.
func (s *Server) getBlobProperties(c *call) error {
	found, err := s.catalog.Head(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	c.setBlob(found, "Content-Md5")
	c.header().Set("Content-Length", strconv.FormatInt(found.Size, 10))
	c.writeHeader(http.StatusOK)
	return nil
}

// getBlob sends a blob, or a range of it.
func (s *Server) getBlob(c *call) error {
	found, err := s.catalog.Get(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	defer found.Close()
	if err := readable(found.Item); err != nil {
		return err
	}
	first, last, ranged := c.byteRange()
	if !ranged {
		return c.sendWhole(found)
	}
	at, err := within(first, last, found.Size)
	if err != nil {
		return err
	}
	return c.sendRange(found, at)
}

// readable refuses what is in the archive.
func readable(i *catalog.Item) error {
	switch {
	case i.Tier != "Archive":
		return nil
	case i.IsSnapshot():
		return archivedSnapshot()
	}
	return azerr.New(azerr.BlobArchived)
}

func archivedSnapshot() error {
	return azerr.New(azerr.BlobArchived).With("A snapshot does not come back from the archive: copy it to a blob, with another x-ms-access-tier.")
}

func (c *call) sendWhole(found *catalog.Content) error {
	if c.rangeChecksum("md5") || c.rangeChecksum("crc64") {
		return noHeader("x-ms-range")
	}
	c.setBlob(found.Item, "Content-Md5")
	return c.send(found, span{0, found.Size}, http.StatusOK)
}

// sendRange sends a range. The MD5 of the whole blob has another name here:
// Content-MD5 is about what is sent.
func (c *call) sendRange(found *catalog.Content, at span) error {
	byMD5, byCRC := c.rangeChecksum("md5"), c.rangeChecksum("crc64")
	switch {
	case byMD5 && byCRC:
		return badHeader("x-ms-range-get-content-md5", "only one checksum can be asked for")
	case (byMD5 || byCRC) && at.n > maxSummed:
		return azerr.New(azerr.OutOfRangeInput).With("The checksum of a range is made for 4 MiB at most.")
	}
	c.setBlob(found.Item, "X-Ms-Blob-Content-Md5")
	c.header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at.offset, at.offset+at.n-1, found.Size))
	if byMD5 || byCRC {
		return c.sendSummed(found, at)
	}
	return c.send(found, at, http.StatusPartialContent)
}

// rangeChecksum reports whether the request asks for this checksum of the range.
func (c *call) rangeChecksum(kind string) bool {
	return c.r.Header.Get("x-ms-range-get-content-"+kind) == "true"
}

// sendSummed sends a small range after its checksum.
func (c *call) sendSummed(found *catalog.Content, at span) error {
	var data bytes.Buffer
	if err := found.WriteTo(c.r.Context(), &data, at.offset, at.n); err != nil {
		return err
	}
	h := c.header()
	if c.rangeChecksum("md5") {
		sum := md5.Sum(data.Bytes())
		h.Set("Content-Md5", base64Of(sum[:]))
	} else {
		h.Set("X-Ms-Content-Crc64", crcText(content.UpdateCRC(0, data.Bytes())))
	}
	h.Set("Content-Length", strconv.FormatInt(at.n, 10))
	c.writeHeader(http.StatusPartialContent)
	_, _ = c.w.Write(data.Bytes()) // a client that is gone needs no content
	return nil
}

// send streams content. A failure after the headers can only cut it off.
func (c *call) send(found *catalog.Content, at span, status int) error {
	c.header().Set("Content-Length", strconv.FormatInt(at.n, 10))
	c.writeHeader(status)
	return found.WriteTo(c.r.Context(), c.w, at.offset, at.n)
}

// setBlob sets the headers of a blob, those that a shared access signature
// prescribes instead of its own, and its MD5 under this name.
func (c *call) setBlob(i *catalog.Item, md5Name string) {
	setItem(c.header(), i)
	if c.sas != nil {
		for name, values := range c.sas.Overrides() {
			c.header()[name] = values
		}
	}
	setMD5(c.header(), md5Name, i)
}

func setMD5(h http.Header, name string, i *catalog.Item) {
	if i.ContentMD5 != nil {
		h.Set(name, base64Of(i.ContentMD5))
	}
}

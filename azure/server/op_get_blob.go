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

// maxSummed is the largest range whose checksum is made on the way.
const maxSummed = 4 << 20

// headBlob tells all about a blob but its content.
func (s *Server) headBlob(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	found, err := s.catalog.Head(c.r.Context(), c.ref, access)
	if err != nil {
		return err
	}
	h := c.header()
	setItem(h, found)
	c.override()
	setMD5(h, "Content-Md5", found)
	h.Set("Content-Length", strconv.FormatInt(found.Size, 10))
	c.begin(http.StatusOK)
	return nil
}

// getBlob sends a blob, or a range of it.
func (s *Server) getBlob(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	found, err := s.catalog.Get(c.r.Context(), c.ref, access)
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
	if c.wants("md5") || c.wants("crc64") {
		return noHeader("x-ms-range") // checksums on the way are made of ranges
	}
	h := c.header()
	setItem(h, found.Item)
	c.override()
	setMD5(h, "Content-Md5", found.Item)
	return c.send(found, span{0, found.Size}, http.StatusOK)
}

// sendRange sends a range. The MD5 of the whole blob goes along under another
// name: Content-MD5 is about what is sent.
func (c *call) sendRange(found *catalog.Content, at span) error {
	summed := c.wants("md5") || c.wants("crc64")
	switch {
	case c.wants("md5") && c.wants("crc64"):
		return badHeader("x-ms-range-get-content-md5", "only one checksum can be asked for")
	case summed && at.n > maxSummed:
		return azerr.New(azerr.OutOfRangeInput).With("The checksum of a range is made for 4 MiB at most.")
	}
	h := c.header()
	setItem(h, found.Item)
	c.override()
	setMD5(h, "X-Ms-Blob-Content-Md5", found.Item)
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at.offset, at.offset+at.n-1, found.Size))
	if summed {
		return c.sendSummed(found, at)
	}
	return c.send(found, at, http.StatusPartialContent)
}

// wants reports whether the checksum of what is sent is asked for.
func (c *call) wants(sum string) bool { return c.r.Header.Get("x-ms-range-get-content-"+sum) == "true" }

// sendSummed sends a small range after its checksum.
func (c *call) sendSummed(found *catalog.Content, at span) error {
	var part bytes.Buffer
	if err := found.WriteTo(c.r.Context(), &part, at.offset, at.n); err != nil {
		return err
	}
	h := c.header()
	if c.wants("md5") {
		sum := md5.Sum(part.Bytes())
		h.Set("Content-Md5", base64Of(sum[:]))
	} else {
		h.Set("X-Ms-Content-Crc64", crcText(content.UpdateCRC(0, part.Bytes())))
	}
	h.Set("Content-Length", strconv.FormatInt(at.n, 10))
	c.begin(http.StatusPartialContent)
	_, _ = c.w.Write(part.Bytes()) // whoever is gone needs no content
	return nil
}

// send streams content. Once it has begun, a failure can only cut it off.
func (c *call) send(found *catalog.Content, at span, status int) error {
	c.header().Set("Content-Length", strconv.FormatInt(at.n, 10))
	c.begin(status)
	return found.WriteTo(c.r.Context(), c.w, at.offset, at.n)
}

func setMD5(h http.Header, name string, i *catalog.Item) {
	if i.ContentMD5 != nil {
		h.Set(name, base64Of(i.ContentMD5))
	}
}

// override sets the headers that a shared access signature prescribes.
func (c *call) override() {
	if c.sas == nil {
		return
	}
	for name, values := range c.sas.Overrides() {
		c.header()[name] = values
	}
}

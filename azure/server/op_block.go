package server

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/content"
)

// maxBlockList has room for the longest list of the longest ids.
const maxBlockList = 8 << 20

// putBlock stages the body, or a range of another blob, as an uncommitted block.
func (s *Server) putBlock(c *call) error {
	block := c.query.Get("blockid")
	if block == "" {
		return noQuery("blockid")
	}
	u, err := s.uploadBlock(c, maxBlock)
	if err != nil {
		return err
	}
	if err := s.catalog.StageBlock(c.r.Context(), c.ref, block, u.Upload, c.access); err != nil {
		return err
	}
	c.header().Set(u.header, u.checksum)
	c.header().Set("X-Ms-Request-Server-Encrypted", "true")
	return c.answer(http.StatusCreated)
}

// putBlockList makes a blob of blocks.
func (s *Server) putBlockList(c *call) error {
	n, err := c.newBlob(blockTiers)
	if err != nil {
		return err
	}
	var list blockList
	body, err := c.readXML(&list, maxBlockList)
	if err != nil {
		return err
	}
	created, err := s.catalog.CommitBlocks(c.r.Context(), c.ref, list.blocks, n, c.access)
	if err != nil {
		return err
	}
	h := c.header() // the checksums are those of the list, not of the blob
	h.Set("X-Ms-Content-Crc64", crcText(content.UpdateCRC(0, body)))
	setSome(h, "Content-Md5", c.r.Header.Get("Content-MD5"))
	return c.answerCreated(created)
}

// getBlockList lists the blocks of a blob.
func (s *Server) getBlockList(c *call) error {
	kind := strings.ToLower(cmp.Or(c.query.Get("blocklisttype"), "committed"))
	if kind != "committed" && kind != "uncommitted" && kind != "all" {
		return badQuery("blocklisttype", "it must be committed, uncommitted or all")
	}
	lists, err := s.catalog.Blocks(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	if lists.Item != nil {
		setVersion(c.header(), lists.Ticks)
		c.header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(lists.Size, 10))
	}
	return c.answerXML(http.StatusOK, xmlBlockLists(kind, lists))
}

package server

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
)

// maxBlockList has room for the longest list of the longest ids.
const maxBlockList = 8 << 20

// stageBlock keeps the body as a block that is not committed yet.
func (s *Server) stageBlock(c *call) error {
	return s.stage(c, func(a catalog.Access) (delivery, error) { return s.receiveSome(c, a, maxBlock) })
}

// stage keeps what comes in as a block. Of what the request shows only the lease
// counts: Azure has no conditions here.
func (s *Server) stage(c *call, receive func(catalog.Access) (delivery, error)) error {
	block := c.query.Get("blockid")
	if block == "" {
		return azerr.New(azerr.MissingRequiredQueryParameter).With("The query parameter blockid is missing.")
	}
	id, err := c.leaseID("X-Ms-Lease-Id")
	if err != nil {
		return err
	}
	access := catalog.Access{Lease: id, Caller: c.caller()}
	told := c.createOnly(&access)
	d, err := receive(access)
	if err != nil {
		return told(err)
	}
	if err := s.catalog.StageBlock(c.r.Context(), c.ref, block, d.Upload, access); err != nil {
		return told(err)
	}
	c.header().Set(d.name, d.sum)
	c.header().Set("X-Ms-Request-Server-Encrypted", "true")
	return c.answer(http.StatusCreated)
}

// commitBlocks makes a blob of blocks.
func (s *Server) commitBlocks(c *call) error {
	n, access, err := c.newAndAccess(tiers)
	if err != nil {
		return err
	}
	var list blockList
	body, err := c.readSummed(&list, maxBlockList)
	if err != nil {
		return err
	}
	told := c.createOnly(&access)
	made, err := s.catalog.CommitBlocks(c.r.Context(), c.ref, list.blocks, n, access)
	if err != nil {
		return told(err)
	}
	h := c.header() // the checksums are those of the list, not of the blob
	h.Set("X-Ms-Content-Crc64", crcText(content.UpdateCRC(0, body)))
	setSome(h, "Content-Md5", c.r.Header.Get("Content-MD5"))
	return c.written(made)
}

// readSummed reads a document and compares it with the checksum that came along:
// a list that was damaged on its way makes another blob. It returns the body.
func (c *call) readSummed(document any, limit int64) ([]byte, error) {
	k, err := c.sums()
	if err != nil {
		return nil, err
	}
	body, err := c.readAll(limit)
	if err != nil {
		return nil, err
	}
	if err := k.matchBytes(body); err != nil {
		return nil, err
	}
	return body, parseXML(body, document)
}

// listBlocks tells which blocks a blob has.
func (s *Server) listBlocks(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	kind := strings.ToLower(orElse(c.query.Get("blocklisttype"), "committed"))
	if kind != "committed" && kind != "uncommitted" && kind != "all" {
		return badQuery("blocklisttype", "it must be committed, uncommitted or all")
	}
	lists, err := s.catalog.Blocks(c.r.Context(), c.ref, access)
	if err != nil {
		return err
	}
	if lists.Item != nil {
		setVersion(c.header(), lists.Ticks)
		c.header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(lists.Size, 10))
	}
	return c.answerXML(http.StatusOK, blockLists(kind, lists))
}

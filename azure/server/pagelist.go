package server

import (
	"net/http"
	"strconv"

	"github.com/leasehold/leasehold/azure/catalog"
)

// pageXML is a range. End is its last byte.
type pageXML struct{ Start, End int64 }

type pagesXML struct {
	XMLName struct{}  `xml:"PageList"`
	Pages   []pageXML `xml:"PageRange"`
	Cleared []pageXML `xml:"ClearRange"`
}

// listPages tells which ranges of a page blob were written, or which differ
// from an earlier snapshot.
func (s *Server) listPages(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	since, err := snapshotIn(c.query, "prevsnapshot")
	if err != nil {
		return err
	}
	if c.query.Get("marker") != "" {
		return badQuery("marker", "all ranges are in the first answer, which has none")
	}
	first, last, found := c.byteRange()
	if !found || last == openEnd {
		last = catalog.MaxPageBlob
	}
	item, ranges, err := s.catalog.Pages(c.r.Context(), c.ref, first, last+1, since, access)
	if err != nil {
		return err
	}
	setVersion(c.header(), item.Ticks)
	c.header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(item.Size, 10))
	return c.answerXML(http.StatusOK, pagesOf(ranges))
}

func pagesOf(ranges []catalog.PageRange) pagesXML {
	var x pagesXML
	for _, r := range ranges {
		page := pageXML{r.Start, r.End - 1}
		if r.Clear {
			x.Cleared = append(x.Cleared, page)
		} else {
			x.Pages = append(x.Pages, page)
		}
	}
	return x
}

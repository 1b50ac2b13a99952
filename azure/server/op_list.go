package server

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// listing is the query of a list of blobs or of containers.
type listing struct {
	prefix, marker, delimiter string
	max                       int    // entries of a page
	maxResults                string // as it was sent
	include                   map[string]bool
}

// readListing reads the query of a list. Known are the words that include may
// have; those for what this server lacks, such as deleted blobs, add nothing.
func (c *call) readListing(known string) (listing, error) {
	l := listing{prefix: c.query.Get("prefix"), marker: c.query.Get("marker"), delimiter: c.query.Get("delimiter"), include: map[string]bool{}}
	for _, values := range c.query.Values()["include"] {
		for word := range strings.SplitSeq(values, ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			if word != "" && !strings.Contains(" "+known+" ", " "+word+" ") {
				return l, badQuery("include", "it may have %s", strings.ReplaceAll(known, " ", ", "))
			}
			l.include[word] = true
		}
	}
	if c.query.Get("startfrom") != "" {
		return l, azerr.New(azerr.NotImplemented).With("This server does not offer startFrom. Use prefix and marker.")
	}
	var err error
	l.maxResults = c.query.Get("maxresults")
	l.max, err = pageSize(l.maxResults)
	return l, err
}

// pageSize reads maxresults, at most catalog.MaxPage.
func pageSize(text string) (int, error) {
	if text == "" {
		return catalog.MaxPage, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, badQuery("maxresults", "it is no number")
	case n <= 0:
		return 0, azerr.New(azerr.OutOfRangeQueryParameterValue).With("The query parameter maxresults must be at least 1.")
	}
	return min(n, catalog.MaxPage), nil
}

// writeHead writes what all lists start with.
func (l listing) writeHead(x *xmlWriter) {
	x.name("Prefix", l.prefix)
	x.element("Marker", l.marker)
	if l.maxResults != "" {
		x.element("MaxResults", strconv.Itoa(l.max))
	}
	if l.delimiter != "" {
		x.name("Delimiter", l.delimiter)
	}
}

// answerList ends a list and sends it.
func (c *call) answerList(x *xmlWriter, next string) error {
	x.element("NextMarker", next)
	x.close("EnumerationResults")
	return c.answerBytes(http.StatusOK, xmlType, x.bytes())
}

const (
	blobIncludes = "snapshots metadata uncommittedblobs copy tags deleted versions deletedwithversions " +
		"immutabilitypolicy legalhold permissions"
	containerIncludes = "metadata deleted system"
)

func (s *Server) listBlobs(c *call) error {
	l, err := c.readListing(blobIncludes)
	if err != nil {
		return err
	}
	if l.include["tags"] {
		if err := c.authorizeTags("A list with tags"); err != nil {
			return err
		}
	}
	page, err := s.catalog.List(c.r.Context(), c.ref, catalog.ListRequest{
		Prefix: l.prefix, Delimiter: l.delimiter, Marker: l.marker, Max: l.max,
		Snapshots: l.include["snapshots"], Uncommitted: l.include["uncommittedblobs"], BaseFirst: c.api.baseFirst,
	})
	if err != nil {
		return err
	}
	x := newXML("EnumerationResults", "ServiceEndpoint", s.endpoint(c), "ContainerName", c.ref.Container)
	l.writeHead(x)
	x.open("Blobs")
	for _, e := range page.Entries {
		if e.Item == nil {
			x.prefix(e.Prefix)
			continue
		}
		x.item(e.Item, l.include)
	}
	x.close("Blobs")
	return c.answerList(x, page.Next)
}

func (s *Server) listContainers(c *call) error {
	l, err := c.readListing(containerIncludes)
	if err != nil {
		return err
	}
	page, err := s.catalog.ListContainers(c.r.Context(), c.ref.Account, l.prefix, l.marker, l.max)
	if err != nil {
		return err
	}
	x := newXML("EnumerationResults", "ServiceEndpoint", s.endpoint(c))
	l.writeHead(x)
	x.open("Containers")
	for _, found := range page.Containers {
		x.container(found, l.include)
	}
	x.close("Containers")
	return c.answerList(x, page.Next)
}

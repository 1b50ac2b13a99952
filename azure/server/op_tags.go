package server

import (
	"net/http"
	"strings"

	"github.com/leasehold/leasehold/azure/catalog"
)

func (s *Server) getBlobTags(c *call) error {
	found, err := s.catalog.Head(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	x := newXML("Tags")
	x.tagSet(found.Tags)
	x.close("Tags")
	return c.answerBytes(http.StatusOK, xmlType, x.bytes())
}

func (s *Server) setBlobTags(c *call) error {
	var document tagsXML
	if _, err := c.readXML(&document, maxXML); err != nil {
		return err
	}
	tags := map[string]string{}
	for _, t := range document.Set.Tags {
		if err := addTag(tags, t.Key, t.Value); err != nil {
			return err
		}
	}
	_, err := s.catalog.Modify(c.r.Context(), c.ref, c.access, false, func(i *catalog.Item) error {
		i.Tags = tags
		return nil
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusNoContent)
}

// findBlobs finds blobs by their tags, in the account or in one container.
func (s *Server) findBlobs(c *call) error {
	where := c.query.Get("where")
	if strings.TrimSpace(where) == "" {
		return noQuery("where")
	}
	max, err := pageSize(c.query.Get("maxresults"))
	if err != nil {
		return err
	}
	page, err := s.catalog.FindByTags(c.r.Context(), c.ref, where, c.query.Get("marker"), max)
	if err != nil {
		return err
	}
	x := newXML("EnumerationResults", "ServiceEndpoint", s.endpoint(c))
	x.element("Where", where)
	x.open("Blobs")
	for _, i := range page.Blobs {
		x.open("Blob")
		x.name("Name", i.Blob)
		x.element("ContainerName", i.Container)
		x.tags(i.Tags)
		x.close("Blob")
	}
	x.close("Blobs")
	return c.answerList(x, page.Next)
}

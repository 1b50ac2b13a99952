package server

import (
	"net/http"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// deletions are the values of x-ms-delete-snapshots.
var deletions = map[string]catalog.Deletion{
	"include": catalog.DeleteInclude,
	"only":    catalog.DeleteSnapshots,
}

// deleteBlob deletes a blob, its snapshots, or one snapshot.
func (s *Server) deleteBlob(c *call) error {
	how, err := c.deletion()
	if err != nil {
		return err
	}
	if err := s.catalog.Delete(c.r.Context(), c.ref, how, c.access); err != nil {
		return err
	}
	c.header().Set("X-Ms-Delete-Type-Permanent", "true")
	return c.answer(http.StatusAccepted)
}

// deletion reads what is to be deleted.
func (c *call) deletion() (catalog.Deletion, error) {
	const name = "x-ms-delete-snapshots"
	text := c.r.Header.Get(name)
	sent := len(c.r.Header.Values(name)) > 0
	how, known := deletions[text]
	switch {
	case c.query.Get("deletetype") != "":
		return 0, azerr.New(azerr.NotImplemented).With("This server keeps nothing that was deleted, so it does not offer deletetype.")
	case sent && !known:
		return 0, badHeader(name, "it must be include or only")
	case sent && c.ref.IsSnapshot():
		return 0, badHeader(name, "a snapshot is deleted by itself")
	case !sent && c.api.keepSnapshots && !c.ref.IsSnapshot():
		return catalog.DeleteBaseOnly, nil
	}
	return how, nil
}

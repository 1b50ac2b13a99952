package blob

import (
	"net/http"

	"github.com/leasehold/leasehold/server/blob/catalog"
	"github.com/leasehold/leasehold/server/blob/fault"
)

// deletions by the header that chooses among them.
var deletions = map[string]catalog.Deletion{
	"include": catalog.DeleteInclude,
	"only":    catalog.DeleteSnapshots,
}

// deleteBlob deletes a blob, its snapshots, or one snapshot.
func (s *Server) deleteBlob(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	how, err := c.deletion()
	if err != nil {
		return err
	}
	if err := s.catalog.Delete(c.r.Context(), c.ref, how, access); err != nil {
		return err
	}
	c.header().Set("X-Ms-Delete-Type-Permanent", "true")
	return c.answer(http.StatusAccepted)
}

// deletion reads what is to be deleted.
func (c *call) deletion() (catalog.Deletion, error) {
	const name = "x-ms-delete-snapshots"
	text := c.r.Header.Get(name)
	how, known := deletions[text]
	switch {
	case c.query.Get("deletetype") != "":
		return 0, fault.New(fault.NotImplemented).With("This server keeps nothing that was deleted, so it does not offer deletetype.")
	case text != "" && !known:
		return 0, badHeader(name, "it must be include or only")
	case text != "" && c.ref.IsSnapshot():
		return 0, badHeader(name, "a snapshot is deleted by itself")
	case text == "" && c.dialect.orphans && !c.ref.IsSnapshot():
		return catalog.DeleteBaseOnly, nil
	}
	return how, nil
}

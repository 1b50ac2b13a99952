package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// setTier moves a blob or a snapshot to another tier. All tiers are on the same
// disk; only Archive means something: what is there cannot be read before it is
// moved back, and a snapshot never is.
func (s *Server) setTier(c *call) error {
	if c.r.Header.Get("x-ms-access-tier") == "" {
		return noHeader("x-ms-access-tier")
	}
	access, err := c.access()
	if err != nil {
		return err
	}
	tier, err := c.tier(slices.Concat(tiers, pageTiers))
	if err != nil {
		return err
	}
	_, err = s.catalog.Modify(c.r.Context(), c.ref, access, false, func(i *catalog.Item) error {
		if premium := strings.HasPrefix(tier, "P"); i.Kind == catalog.Append || premium != (i.Kind == catalog.Page) {
			return azerr.New(azerr.AccessTierNotSupportedForBlobType)
		}
		if i.IsSnapshot() && i.Tier == "Archive" && tier != "Archive" {
			return archivedSnapshot()
		}
		i.Tier, i.TierChanged = tier, catalog.TicksOf(c.began)
		return nil
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK)
}

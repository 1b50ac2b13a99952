package server

import (
	"net/http"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/sign"
)

// anyPermission is the need of what every shared access signature allows.
var anyPermission = sign.Need{Permissions: "racwdxyltmeopfi"}

var serviceOperations = []operation{
	{Name: "List Containers", Level: atService, Method: "GET", Comp: "list",
		Need: ofAccount("l"), Handle: (*Server).listContainers},
	{Name: "Get Blob Service Properties", Level: atService, Method: "GET", Restype: "service", Comp: "properties",
		Need: ofAccount("r"), Handle: (*Server).serviceProperties},
	{Name: "Set Blob Service Properties", Level: atService, Method: "PUT", Restype: "service", Comp: "properties", Write: true,
		Need: ofAccount("w"), Handle: (*Server).setServiceProperties},
	{Name: "Get Blob Service Stats", Level: atService, Method: "GET", Restype: "service", Comp: "stats",
		Need: ofAccount("r"), Handle: (*Server).serviceStats},
	{Name: "Get Account Information", Level: atService, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).accountInfo},
	{Name: "Get Account Information", Level: atBlob, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).accountInfo},
	{Name: "Find Blobs by Tags", Level: atService, Method: "GET", Comp: "blobs",
		Need: ofAccount("f"), Handle: (*Server).findBlobs},
	{Name: "Blob Batch", Level: atService, Method: "POST", Comp: "batch", Write: true,
		Need: ofAccount("wd"), Handle: (*Server).batch},
	// The JavaScript SDK takes the account in the path for a container.
	{Name: "Blob Batch", Level: atService, Method: "POST", Restype: "container", Comp: "batch", Write: true,
		Need: ofAccount("wd"), Handle: (*Server).batch},
}

// accountInfo tells what kind of account this is.
func (s *Server) accountInfo(c *call) error {
	h := c.header()
	h.Set("X-Ms-Sku-Name", "Standard_RAGRS")
	h.Set("X-Ms-Account-Kind", "StorageV2")
	h.Set("X-Ms-Is-Hns-Enabled", "false")
	return c.answer(http.StatusOK)
}

// serviceStats tells how far the secondary is behind: it is the primary, so
// never.
func (s *Server) serviceStats(c *call) error {
	if !c.secondary {
		return badQuery("comp", "stats are told by the secondary endpoint only")
	}
	x := newXML("StorageServiceStats")
	x.open("GeoReplication")
	x.element("Status", "live")
	x.element("LastSyncTime", c.began.UTC().Format(http.TimeFormat))
	x.close("GeoReplication")
	x.close("StorageServiceStats")
	return c.answerDocument(http.StatusOK, x.bytes())
}

// findBlobs finds blobs by their tags, in the account or in one container.
func (s *Server) findBlobs(c *call) error {
	where := c.query.Get("where")
	if strings.TrimSpace(where) == "" {
		return azerr.New(azerr.MissingRequiredQueryParameter).With("The query parameter where is missing.")
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
	x.element("NextMarker", page.Next)
	x.close("EnumerationResults")
	return c.answerDocument(http.StatusOK, x.bytes())
}

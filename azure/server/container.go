package server

import (
	"net/http"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// byKeyOnly is the need of what no shared access signature allows.
var byKeyOnly = sign.Need{}

// ofAccount is the need of what a shared access signature of the whole account
// allows, and none of a container does.
func ofAccount(permissions string) sign.Need {
	return sign.Need{Permissions: permissions, AccountOnly: true}
}

var containerOperations = []operation{
	{Name: "Create Container", Level: atContainer, Method: "PUT", Restype: "container", Write: true,
		Need: ofAccount("cw"), Handle: (*Server).createContainer},
	{Name: "Get Container Properties", Level: atContainer, Method: "GET HEAD", Restype: "container",
		Need: ofAccount("r"), Public: publicContainer, Handle: (*Server).containerProperties},
	{Name: "Delete Container", Level: atContainer, Method: "DELETE", Restype: "container", Write: true,
		Need: ofAccount("d"), Handle: (*Server).deleteContainer},
	{Name: "Get Container Metadata", Level: atContainer, Method: "GET HEAD", Restype: "container", Comp: "metadata",
		Need: ofAccount("r"), Public: publicContainer, Handle: (*Server).containerMetadata},
	{Name: "Set Container Metadata", Level: atContainer, Method: "PUT", Restype: "container", Comp: "metadata", Write: true,
		Need: ofAccount("w"), Handle: (*Server).setContainerMetadata},
	{Name: "Get Container ACL", Level: atContainer, Method: "GET HEAD", Restype: "container", Comp: "acl",
		Need: byKeyOnly, Handle: (*Server).containerACL},
	{Name: "Set Container ACL", Level: atContainer, Method: "PUT", Restype: "container", Comp: "acl", Write: true,
		Need: byKeyOnly, Handle: (*Server).setContainerACL},
	{Name: "List Blobs", Level: atContainer, Method: "GET", Restype: "container", Comp: "list",
		Need: sign.Need{Permissions: "l"}, Public: publicContainer, Handle: (*Server).listBlobs},
	{Name: "Find Blobs by Tags in Container", Level: atContainer, Method: "GET", Restype: "container", Comp: "blobs",
		Need: sign.Need{Permissions: "f"}, Handle: (*Server).findBlobs},
	{Name: "Blob Batch of Container", Level: atContainer, Method: "POST", Restype: "container", Comp: "batch", Write: true,
		Need: sign.Need{Permissions: "wd"}, Handle: (*Server).batch},
	{Name: "Get Account Information", Level: atContainer, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).accountInfo},
}

func (s *Server) createContainer(c *call) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	public, err := c.publicAccess()
	if err != nil {
		return err
	}
	made, err := s.catalog.CreateContainer(c.r.Context(), c.ref, catalog.ContainerDetails{Metadata: metadata, Public: public})
	if err != nil {
		return err
	}
	setVersion(c.header(), made.Ticks)
	return c.answer(http.StatusCreated)
}

// publicAccess reads how far the container is to be open to everybody.
func (c *call) publicAccess() (string, error) {
	const name = "x-ms-blob-public-access"
	switch access := publicAccess(c.r.Header.Get(name)); access {
	case "", publicBlob, publicContainer:
		return string(access), nil
	}
	return "", badHeader(name, "it must be blob, container, or not there")
}

func (s *Server) deleteContainer(c *call) error {
	access, err := c.access()
	if err != nil {
		return err
	}
	if err := s.catalog.DeleteContainer(c.r.Context(), c.ref, access); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

// readContainer returns the container that the request asks for.
func (s *Server) readContainer(c *call) (*catalog.Container, error) {
	access, err := c.access()
	if err != nil {
		return nil, err
	}
	return s.catalog.Container(c.r.Context(), c.ref, access)
}

func (s *Server) containerProperties(c *call) error {
	found, err := s.readContainer(c)
	if err != nil {
		return err
	}
	h := c.header()
	setVersion(h, found.Ticks)
	setMetadata(h, found.Metadata)
	setLease(h, found.Lease)
	setSome(h, "X-Ms-Blob-Public-Access", found.Public)
	h.Set("X-Ms-Has-Immutability-Policy", "false")
	h.Set("X-Ms-Has-Legal-Hold", "false")
	h.Set("X-Ms-Immutable-Storage-With-Versioning-Enabled", "false")
	h.Set("X-Ms-Default-Encryption-Scope", "$account-encryption-key")
	h.Set("X-Ms-Deny-Encryption-Scope-Override", "false")
	return c.answer(http.StatusOK)
}

func (s *Server) containerMetadata(c *call) error {
	found, err := s.readContainer(c)
	if err != nil {
		return err
	}
	setVersion(c.header(), found.Ticks)
	setMetadata(c.header(), found.Metadata)
	return c.answer(http.StatusOK)
}

func (s *Server) setContainerMetadata(c *call) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	access, err := c.access()
	if err != nil {
		return err
	}
	changed, err := s.catalog.SetContainer(c.r.Context(), c.ref, access, func(d *catalog.ContainerDetails) { d.Metadata = metadata })
	if err != nil {
		return err
	}
	setVersion(c.header(), changed.Ticks)
	return c.answer(http.StatusOK)
}

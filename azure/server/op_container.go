package server

import (
	"net/http"

	"github.com/leasehold/leasehold/azure/catalog"
)

func (s *Server) createContainer(c *call) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	public, err := c.publicAccess()
	if err != nil {
		return err
	}
	created, err := s.catalog.CreateContainer(c.r.Context(), c.ref, catalog.ContainerDetails{Metadata: metadata, Public: public})
	if err != nil {
		return err
	}
	setVersion(c.header(), created.Ticks)
	return c.answer(http.StatusCreated)
}

// publicAccess reads how far the container becomes public.
func (c *call) publicAccess() (string, error) {
	const name = "x-ms-blob-public-access"
	switch access := publicAccess(c.r.Header.Get(name)); access {
	case "", publicBlob, publicContainer:
		return string(access), nil
	}
	return "", badHeader(name, "it must be blob, container, or not there")
}

func (s *Server) deleteContainer(c *call) error {
	if err := s.catalog.DeleteContainer(c.r.Context(), c.ref, c.access); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

func (s *Server) getContainerProperties(c *call) error {
	found, err := s.catalog.Container(c.r.Context(), c.ref, c.access)
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

func (s *Server) getContainerMetadata(c *call) error {
	found, err := s.catalog.Container(c.r.Context(), c.ref, c.access)
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
	return s.setContainer(c, func(d *catalog.ContainerDetails) { d.Metadata = metadata })
}

func (s *Server) getContainerACL(c *call) error {
	found, err := s.catalog.Container(c.r.Context(), c.ref, c.access)
	if err != nil {
		return err
	}
	setVersion(c.header(), found.Ticks)
	setSome(c.header(), "X-Ms-Blob-Public-Access", found.Public)
	var list identifiers
	for _, p := range found.Policies {
		i := identifier{ID: p.ID}
		i.Policy.Start, i.Policy.Expiry, i.Policy.Permissions = p.Start, p.Expiry, p.Permissions
		list.List = append(list.List, i)
	}
	return c.answerXML(http.StatusOK, list)
}

func (s *Server) setContainerACL(c *call) error {
	public, err := c.publicAccess()
	if err != nil {
		return err
	}
	body, err := c.readAll(maxXML)
	if err != nil {
		return err
	}
	policies, err := parsePolicies(body)
	if err != nil {
		return err
	}
	return s.setContainer(c, func(d *catalog.ContainerDetails) { d.Public, d.Policies = public, policies })
}

func (s *Server) setContainer(c *call, change func(*catalog.ContainerDetails)) error {
	changed, err := s.catalog.SetContainer(c.r.Context(), c.ref, c.access, change)
	if err != nil {
		return err
	}
	setVersion(c.header(), changed.Ticks)
	return c.answer(http.StatusOK)
}

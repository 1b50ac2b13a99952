package server

import (
	"encoding/json"
	"net/http"
)

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

// reset deletes all that the account has, leased or not, so that tests can
// begin anew.
func (s *Server) reset(c *call) error {
	if err := s.catalog.Reset(c.r.Context(), c.ref.Account); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

// properties returns those of the account.
func (s *Server) properties(c *call) (properties, error) {
	p := unset()
	stored, err := s.catalog.ServiceProperties(c.r.Context(), c.ref.Account)
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &p)
	}
	return p, err
}

func (s *Server) serviceProperties(c *call) error {
	p, err := s.properties(c)
	if err != nil {
		return err
	}
	return c.answerXML(http.StatusOK, p)
}

func (s *Server) setServiceProperties(c *call) error {
	var sent properties
	if err := c.readXML(&sent); err != nil {
		return err
	}
	if err := sent.check(); err != nil {
		return err
	}
	s.settings.Lock() // two that change different things must both win
	defer s.settings.Unlock()
	p, err := s.properties(c)
	if err != nil {
		return err
	}
	p.take(sent)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := s.catalog.SetServiceProperties(c.r.Context(), c.ref.Account, data); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

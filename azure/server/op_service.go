package server

import (
	"encoding/json"
	"net/http"
)

// getAccountInfo answers which kind of account this is.
func (s *Server) getAccountInfo(c *call) error {
	h := c.header()
	h.Set("X-Ms-Sku-Name", "Standard_RAGRS")
	h.Set("X-Ms-Account-Kind", "StorageV2")
	h.Set("X-Ms-Is-Hns-Enabled", "false")
	return c.answer(http.StatusOK)
}

// getServiceStats answers how far the secondary is behind: never, it is the
// primary.
func (s *Server) getServiceStats(c *call) error {
	if !c.secondary {
		return badQuery("comp", "stats are told by the secondary endpoint only")
	}
	x := newXML("StorageServiceStats")
	x.open("GeoReplication")
	x.element("Status", "live")
	x.element("LastSyncTime", c.started.UTC().Format(http.TimeFormat))
	x.close("GeoReplication")
	x.close("StorageServiceStats")
	return c.answerBytes(http.StatusOK, xmlType, x.bytes())
}

// resetAccount deletes all that the account has, leased or not, between tests.
func (s *Server) resetAccount(c *call) error {
	if err := s.catalog.Reset(c.r.Context(), c.ref.Account); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

// properties returns the service properties of the account.
func (s *Server) properties(c *call) (properties, error) {
	p := defaultProperties()
	stored, err := s.catalog.ServiceProperties(c.r.Context(), c.ref.Account)
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &p)
	}
	return p, err
}

func (s *Server) getServiceProperties(c *call) error {
	p, err := s.properties(c)
	if err != nil {
		return err
	}
	return c.answerXML(http.StatusOK, p)
}

func (s *Server) setServiceProperties(c *call) error {
	var sent properties
	body, err := c.readAll(maxXML)
	if err != nil {
		return err
	}
	if err := parseXML(body, &sent); err != nil {
		return err
	}
	if err := sent.validate(); err != nil {
		return err
	}
	s.settings.Lock() // two requests that change different properties must both win
	defer s.settings.Unlock()
	p, err := s.properties(c)
	if err != nil {
		return err
	}
	p.merge(sent)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := s.catalog.SetServiceProperties(c.r.Context(), c.ref.Account, data); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

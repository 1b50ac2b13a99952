package server

import "net/http"

// resetOperations are ours, not Azure's.
var resetOperations = []operation{
	{Name: "Reset Account", Level: atService, Method: "DELETE", Restype: "service", Comp: "reset", Write: true, Operate: true,
		Need: byKeyOnly, Handle: (*Server).reset},
}

// reset deletes all that the account has, leased or not, so that tests can
// begin anew.
func (s *Server) reset(c *call) error {
	if err := s.catalog.Reset(c.r.Context(), c.ref.Account); err != nil {
		return err
	}
	return c.answer(http.StatusAccepted)
}

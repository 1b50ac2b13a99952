package server

// snapshotBlob takes a snapshot. Metadata that comes along is the snapshot's;
// without any it has the blob's.
func (s *Server) snapshotBlob(c *call) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	access, err := c.access()
	if err != nil {
		return err
	}
	taken, err := s.catalog.Snapshot(c.r.Context(), c.ref, metadata, access)
	if err != nil {
		return err
	}
	c.header().Set("X-Ms-Snapshot", taken.Snapshot.String())
	return c.written(taken)
}

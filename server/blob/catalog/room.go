package catalog

import (
	"errors"

	"github.com/leasehold/leasehold/server/blob/content"
	"github.com/leasehold/leasehold/server/blob/fault"
)

// room refuses what takes space while the disk is full. Leases, reads and
// deletes never ask for it.
func (c *Catalog) room() error { return explainFull(c.content.Room()) }

// explainFull names a full disk; other errors stay as they are.
func explainFull(err error) error {
	if errors.Is(err, content.ErrFull) {
		return fault.New(fault.InsufficientStorage)
	}
	return err
}

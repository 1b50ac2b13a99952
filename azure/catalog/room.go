package catalog

import (
	"errors"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/content"
)

// room refuses what takes space while the disk is full. Leases, reads and
// deletes never ask for it.
func (c *Catalog) room() error { return explainFull(c.content.Room()) }

// explainFull names a full disk; other errors stay as they are.
func explainFull(err error) error {
	if errors.Is(err, content.ErrFull) {
		return azerr.New(azerr.InsufficientStorage)
	}
	return err
}

package sqlite

import (
	"fmt"
	"log/slog"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
)

// Durability is what an answered request survives.
type Durability uint8

const (
	// DurabilityFull survives kill -9 and power loss: every commit is synced.
	// In SQLite's words it is synchronous=FULL. (EXTRA would add nothing: it
	// differs from FULL only for rollback journals, and this file has a
	// write-ahead log.)
	DurabilityFull Durability = iota

	// DurabilityNormal survives kill -9. A power loss may take the last commits
	// back, and tokens given out in them are then given out again.
	DurabilityNormal
)

// synchronous is the durability in SQLite's words.
func (d Durability) synchronous() string {
	if d == DurabilityNormal {
		return "NORMAL"
	}
	return "FULL"
}

// Options are the store's. Nil is fine.
type Options struct {
	// Durability of a commit. Default DurabilityFull.
	Durability Durability

	// Modules that keep tables of their own in the file. Default none.
	Modules []engine.Module

	// MustExist refuses to make the file, with ErrMissing: for whoever only wants
	// to look, a new and empty store would hide a mistyped name. Default: the
	// file is made if there is none.
	MustExist bool

	// Reach tells people how to reach this process, such as the address of its
	// JSON door. Whoever tries to open the file meanwhile is told. Default: only
	// the process id and the host are told.
	Reach string

	// Reserve is how many bytes of disk are kept beside the file, as FILE.reserve,
	// to be given up when the disk is full. Default: none is made; one that is
	// there stays, and is used if need be.
	Reserve int64

	// Logger hears when the reserve is given up and restored. Default: nobody
	// does.
	Logger *slog.Logger
}

func (o *Options) orDefault() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o Options) validate() error {
	if o.Durability > DurabilityNormal {
		return invalid("durability", fmt.Sprintf("is %d; want DurabilityFull or DurabilityNormal", o.Durability))
	}
	if o.Reserve < 0 {
		return invalid("reserve", fmt.Sprintf("is %d; want bytes, or 0 for none", o.Reserve))
	}
	return checkModules(o.Modules)
}

// invalid is the error for an argument of Open, Backup or Restore.
func invalid(field, problem string) error {
	return &leasehold.Error{Reason: leasehold.ReasonInvalid, Store: kind, Field: field, Problem: problem}
}

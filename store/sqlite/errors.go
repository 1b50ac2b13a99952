package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/leasehold/leasehold"
	"zombiezen.com/go/sqlite"
)

// What can be wrong with a database file, for errors.Is. They come inside a
// *leasehold.Error whose text says which file, what is wrong and what to do.
var (
	// ErrInUse: another process, or another Store of this process, has the file.
	ErrInUse = errors.New("in use")
	// ErrForeign: the file is no Leasehold database. It is not changed.
	ErrForeign = errors.New("not a Leasehold database")
	// ErrNewer: a newer program has changed the file's schema.
	ErrNewer = errors.New("written by a newer program")
	// ErrDamaged: the file is a Leasehold database that cannot be read.
	ErrDamaged = errors.New("damaged")
	// ErrReadOnly: the file or its directory cannot be written to.
	ErrReadOnly = errors.New("not writable")
	// ErrFull: there is no space left.
	ErrFull = errors.New("no space left")
	// ErrExists: the file to be written is there already.
	ErrExists = errors.New("exists already")
	// ErrMissing: there is no such file, and Options.MustExist forbids making it.
	// Unlike the others it comes as ErrInvalid: waiting does not help.
	ErrMissing = errors.New("does not exist; check the name")
)

// fileError says what is wrong with a file and what to do about it.
type fileError struct {
	path   string
	what   error  // one of the above, or nil
	detail string // in plain words, with the advice
	cause  error
}

func (e *fileError) Error() string {
	s := e.path + " " + e.detail
	if e.cause != nil {
		s += fmt.Sprintf(" (%v)", e.cause)
	}
	return s
}

func (e *fileError) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.what, e.cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// fileErr turns an error of SQLite or of the system into one about the file.
func fileErr(path string, err error) error {
	if err == nil || errors.As(err, new(*fileError)) || leasehold.ReasonOf(err) != "" ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &fileError{path: path, cause: err}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultFormat:
		return damaged(path, err)
	case sqlite.ResultNotADB:
		e.what, e.detail = ErrForeign, "is no SQLite database; name another file, or restore a backup if this one was good before"
		return e
	case sqlite.ResultFull:
		e.what, e.detail = ErrFull, "cannot grow; free some space on its disk"
		return e
	case sqlite.ResultIOErr:
		e.detail = "could not be read or written; check its disk for space, quota and health"
		return e
	case sqlite.ResultBusy, sqlite.ResultLocked:
		e.what, e.detail = ErrInUse, "is locked by another program; end that one and try again"
		return e
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		e.what, e.detail = ErrReadOnly, "cannot be opened for writing; check the rights on the file, its companions and its directory"
		return e
	}
	switch {
	case errors.Is(err, errMalformed):
		return damaged(path, err)
	case noSpace(err):
		e.what, e.detail = ErrFull, "cannot grow; free some space on its disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.what, e.detail = ErrReadOnly, "cannot be written to; check the rights on the file and its directory"
	case errors.Is(err, fs.ErrNotExist):
		e.detail = "is missing; if it was moved or deleted, put it back"
	default:
		return err // about a statement, not about the file
	}
	return e
}

func damaged(path string, cause error) error {
	return &fileError{path: path, what: ErrDamaged, cause: cause,
		detail: "is damaged; keep a copy of it and restore the last backup"}
}

// invalid is the error for an argument of Open, Backup or Restore.
func invalid(field, problem string, args ...any) error {
	err := leasehold.Invalid(field, problem, args...)
	err.Store = kind
	return err
}

// unavailable is the error of an exported function.
func unavailable(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*leasehold.Error)(nil); errors.As(err, &e) {
		if e.Op == "" {
			e.Op = op
		}
		return err
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: op, Store: kind, Cause: fileErr(path, err)}
}

package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
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
	// ErrSets: live leases on several resources or patterns are in a file that is to be
	// opened in shared mode, which would not see them.
	ErrSets = errors.New("has leases on several resources")
	// ErrMissing: there is no such file, and Options.MustExist forbids making it.
	// Unlike the others it comes as ErrInvalid: waiting does not help.
	ErrMissing = errors.New("does not exist; check the name")
)

// FileError says what is wrong with a file and what to do about it.
type FileError struct {
	Path   string
	What   error  // one of the above, or nil
	Detail string // in plain words, with the advice
	Cause  error
}

func (e *FileError) Error() string {
	s := e.Path + " " + e.Detail
	if e.Cause != nil {
		s += fmt.Sprintf(" (%v)", e.Cause)
	}
	return s
}

// Public is what a server's clients may know: not where the file is.
func (e *FileError) Public() string {
	switch e.What {
	case ErrFull:
		return "its disk is full"
	case ErrReadOnly:
		return "its file cannot be written to"
	case ErrDamaged:
		return "its file is damaged"
	}
	return ""
}

func (e *FileError) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.What, e.Cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Describe turns an error of SQLite or of the system into one about the file.
func Describe(path string, err error) error {
	if err == nil || errors.As(err, new(*FileError)) || leasehold.ReasonOf(err) != "" ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &FileError{Path: path, Cause: err}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultFormat:
		return Damaged(path, err)
	case sqlite.ResultNotADB:
		e.What, e.Detail = ErrForeign, "is no SQLite database; name another file, or restore a backup if this one was good before"
		return e
	case sqlite.ResultFull:
		e.What, e.Detail = ErrFull, "cannot grow; free some space on its disk"
		return e
	case sqlite.ResultIOErr:
		e.Detail = "could not be read or written; check its disk for space, quota and health"
		return e
	case sqlite.ResultBusy, sqlite.ResultLocked:
		e.What, e.Detail = ErrInUse, "is locked by another program; end that one and try again"
		return e
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		e.What, e.Detail = ErrReadOnly, "cannot be opened for writing; check the rights on the file, its companions and its directory"
		return e
	}
	switch {
	case errors.Is(err, ErrMalformed):
		return Damaged(path, err)
	case NoSpace(err):
		e.What, e.Detail = ErrFull, "cannot grow; free some space on its disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.What, e.Detail = ErrReadOnly, "cannot be written to; check the rights on the file and its directory"
	case errors.Is(err, fs.ErrNotExist):
		e.Detail = "is missing; if it was moved or deleted, put it back"
	default:
		return err // about a statement, not about the file
	}
	return e
}

func Damaged(path string, cause error) error {
	return &FileError{Path: path, What: ErrDamaged, Cause: cause,
		Detail: "is damaged; keep a copy of it and restore the last backup"}
}

// Invalid is the error for an argument of Open, Backup or Restore.
func Invalid(field, problem string, args ...any) error {
	err := leasehold.Invalid(field, problem, args...)
	err.Store = Kind
	return err
}

// Unavailable is the error of an exported function.
func Unavailable(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*leasehold.Error)(nil); errors.As(err, &e) {
		if e.Op == "" {
			e.Op = op
		}
		return err
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: op, Store: Kind, Cause: Describe(path, err)}
}

// NoSpace reports whether an error of the system says that the disk, or the
// user's share of it, is full.
func NoSpace(err error) bool {
	const diskFull = syscall.Errno(112) // ERROR_DISK_FULL
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		runtime.GOOS == "windows" && errors.Is(err, diskFull)
}

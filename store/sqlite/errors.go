package sqlite

import "github.com/leasehold/leasehold/store/sqlite/internal/dbfile"

// What can be wrong with a database file, for errors.Is. They come inside a
// *leasehold.Error whose text says which file, what is wrong and what to do.
var (
	// ErrInUse: another process, or another Store of this process, has the file.
	ErrInUse = dbfile.ErrInUse
	// ErrForeign: the file is no Leasehold database. It is not changed.
	ErrForeign = dbfile.ErrForeign
	// ErrNewer: a newer program has changed the file's schema.
	ErrNewer = dbfile.ErrNewer
	// ErrDamaged: the file is a Leasehold database that cannot be read.
	ErrDamaged = dbfile.ErrDamaged
	// ErrReadOnly: the file or its directory cannot be written to.
	ErrReadOnly = dbfile.ErrReadOnly
	// ErrFull: there is no space left.
	ErrFull = dbfile.ErrFull
	// ErrExists: the file to be written is there already.
	ErrExists = dbfile.ErrExists
	// ErrSets: live leases on several resources or patterns are in a file that is to be
	// opened in shared mode, which would not see them.
	ErrSets = dbfile.ErrSets
	// ErrMissing: there is no such file, and Options.MustExist forbids making it.
	// Unlike the others it comes as ErrInvalid: waiting does not help.
	ErrMissing = dbfile.ErrMissing
)

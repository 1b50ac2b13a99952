package dbfile

import (
	"errors"
	"fmt"

	"github.com/leasehold/leasehold/internal/move"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Mark is the file's part in a move of its leases.
type Mark struct {
	ID    string
	State move.State
	Peer  string
	Until int64 // of move.Leaving, on the file's clock
}

// ForEngine makes the file ready for the engine. It refuses a file whose leases
// are or belong elsewhere, unless it is wanted for its blobs only. A move that has
// not come to its point of no return is void: its process does not have the file
// any more.
func ForEngine(path string, blobsOnly bool) func(*sqlite.Conn) error {
	return func(conn *sqlite.Conn) error {
		mark, err := readMark(conn)
		if err != nil {
			return err
		}
		if refusal := (move.Mark{State: mark.State, Peer: mark.Peer}).Refusal(false); refusal != nil && !blobsOnly {
			return &FileError{Path: path, Detail: "grants no leases", Cause: refusal}
		}
		return inTransaction(conn, func() error {
			if mark.State == move.Leaving {
				if err := Run(conn, sqlEndLeaving); err != nil {
					return err
				}
			}
			return dropIndexes(conn)
		})
	}
}

// ForSharing makes the file ready for shared mode: it gets indexes, which the
// engine does without, since it has all rows in memory and they would slow down
// its commits. It refuses a file with live sets.
func ForSharing(path string) func(*sqlite.Conn) error {
	return func(conn *sqlite.Conn) error {
		return inTransaction(conn, func() error {
			if err := refuseSets(conn, path); err != nil {
				return err
			}
			return addIndexes(conn)
		})
	}
}

// Joined checks that the file has the schema of this program. Others share it, so
// it cannot be changed.
func Joined(conn *sqlite.Conn, path string) error {
	version, err := SchemaVersion(conn, path)
	switch known := len(EngineSchema.Migrations); {
	case err != nil:
		return err
	case version > known:
		return Newer(path, "schema", version, known)
	case version < known:
		return &FileError{Path: path, What: ErrInUse, Detail: fmt.Sprintf(
			"is shared by processes of an older program, with version %d of the schema, and this one needs version %d; stop them first", version, known)}
	}
	return nil
}

// sharedIndexes are the indexes of shared mode, by name.
var sharedIndexes = map[string]string{
	"leases_id":     sqlIndexID,
	"leases_former": sqlIndexFormer,
	"leases_ends":   sqlIndexEnds,
	"leases_caller": sqlIndexCaller,
}

func addIndexes(conn *sqlite.Conn) error {
	return eachIndex(conn, func(name string, there bool) error {
		if there {
			return nil
		}
		return Run(conn, sharedIndexes[name])
	})
}

func dropIndexes(conn *sqlite.Conn) error {
	return eachIndex(conn, func(name string, there bool) error {
		if !there {
			return nil
		}
		return Run(conn, "DROP INDEX "+name)
	})
}

// eachIndex calls f for each index of shared mode, with whether the file has it.
func eachIndex(conn *sqlite.Conn, f func(name string, there bool) error) error {
	there := map[string]bool{}
	err := sqlitex.ExecuteTransient(conn, sqlIndexes, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		there[s.ColumnText(0)] = true
		return nil
	}})
	if err != nil {
		return err
	}
	for name := range sharedIndexes {
		if err := f(name, there[name]); err != nil {
			return err
		}
	}
	return nil
}

func readMark(conn *sqlite.Conn) (m Mark, err error) {
	err = sqlitex.ExecuteTransient(conn, sqlMark, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		m = Mark{ID: s.ColumnText(0), State: move.State(s.ColumnText(1)), Peer: s.ColumnText(2), Until: s.ColumnInt64(3)}
		return nil
	}})
	return m, err
}

// inTransaction runs f in a transaction. One that changes nothing writes nothing.
func inTransaction(conn *sqlite.Conn, f func() error) (err error) {
	if err := Run(conn, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil && !conn.AutocommitEnabled() {
			err = errors.Join(err, Run(conn, "ROLLBACK"))
		}
	}()
	if err := f(); err != nil {
		return err
	}
	return Run(conn, "COMMIT")
}

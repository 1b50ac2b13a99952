package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// lock keeps other processes from a database file. The system unlocks it when the
// process ends, however it ends, so a lock file that was left behind blocks
// nobody. It is never deleted, because another process may be about to lock it.
type lock struct{ file *os.File }

// errLocked is tryLock's error when another process has the lock.
var errLocked = errors.New("locked")

// lockDatabase locks the database at path for this process, or says who has it.
func lockDatabase(path, reach string) (*lock, error) {
	name := path + ".lock"
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fileErr(name, err)
	}
	if err := tryLock(file); err != nil {
		defer file.Close()
		if errors.Is(err, errLocked) {
			return nil, &fileError{path: path, what: ErrInUse, detail: readOwner(file)}
		}
		return nil, fileErr(name, err)
	}
	if err := writeOwner(file, reach); err != nil {
		file.Close()
		return nil, fileErr(name, err)
	}
	return &lock{file}, nil
}

// writeOwner writes into the lock file who has it.
func writeOwner(file *os.File, reach string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	text := fmt.Sprintf("pid: %d\nhost: %s\nsince: %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if reach != "" {
		text += "reach: " + strings.Join(strings.Fields(reach), " ") + "\n"
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt([]byte(text), 0)
	return err
}

// readOwner reads what writeOwner wrote, if the other process has done so yet.
func readOwner(file *os.File) string {
	fields := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ": "); ok {
			fields[key] = value
		}
	}
	if fields["pid"] == "" {
		return "is in use by another process; use that one instead, or stop it first"
	}
	s := fmt.Sprintf("is in use by process %s on host %s since %s", fields["pid"], fields["host"], fields["since"])
	if fields["reach"] == "" {
		return s + "; use that process instead, or stop it first"
	}
	return s + fmt.Sprintf(", which can be reached at %s; go there instead, or stop it first", fields["reach"])
}

// unlock unlocks the database, by closing the file.
func (l *lock) unlock() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := l.file.Truncate(0) // nobody has it now
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

package dbfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold/internal/sleep"
)

// Lock keeps other processes from a database file: all of them, or those of the
// other mode. The system unlocks it when the process ends, however it ends, so a
// lock file that was left behind blocks nobody. It is never deleted, because
// another process may be about to lock it.
type Lock struct {
	file   *os.File
	name   string
	shared bool
}

// errLocked is tryLock's error when another process has the lock.
var errLocked = errors.New("locked")

// lockMode is how a process has the file.
type lockMode uint8

const (
	alone  lockMode = iota // the engine, or a process that prepares the file
	shared                 // with other processes in shared mode
)

// LockAlone locks the database at path for this process, or says who has it.
func LockAlone(path, reach string) (*Lock, error) {
	l, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := tryLock(l.file, alone); err != nil {
		defer l.file.Close()
		return nil, l.refusal(path, err)
	}
	o := newOwner()
	o.reach = strings.Join(strings.Fields(reach), " ")
	if err := o.write(l.file); err != nil {
		l.file.Close()
		return nil, Describe(l.name, err)
	}
	return l, nil
}

// LockShared locks the database at path for processes in shared mode that have the
// same clock. The first of them calls prepare while nobody else has the file; those
// that come meanwhile wait.
func LockShared(ctx context.Context, path, clock string, prepare func() error) (*Lock, error) {
	started := time.Now()
	for {
		l, err := tryShared(path, clock, prepare)
		var again *retry
		if !errors.As(err, &again) {
			return l, err
		}
		if time.Since(started) > again.within {
			return nil, again.refusal
		}
		if !sleep.For(ctx, time.Millisecond+rand.N(20*time.Millisecond)) {
			return nil, context.Cause(ctx)
		}
	}
}

// retry is the error of a lock that may be free in a moment: how long to try, and
// the refusal after that.
type retry struct {
	within  time.Duration
	refusal error
}

func (r *retry) Error() string { return r.refusal.Error() }

// momentary is how long it may take until a process that has got the lock has
// written so, or one that only prepares the file has finished with it.
const momentary = 250 * time.Millisecond

func tryShared(path, clock string, prepare func() error) (_ *Lock, err error) {
	l, err := openLock(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.file.Close()
		}
	}()
	l.shared = true
	switch err := tryLock(l.file, alone); {
	case err == nil:
		err = l.prepare(clock, prepare)
		if err != nil {
			return nil, err
		}
		// Some systems unlock for a moment here, and the engine may get in between.
		err = share(l.file)
		if err != nil {
			return nil, l.retry(path, err)
		}
	case !errors.Is(err, errLocked):
		return nil, Describe(l.name, err)
	default:
		if err := tryLock(l.file, shared); err != nil {
			return nil, l.retry(path, err)
		}
	}
	if !l.Stands() { // deleted since it was opened
		return nil, &retry{BusyTimeout, &FileError{Path: l.name, What: ErrInUse, Detail: "is deleted again and again; let it be"}}
	}
	// The engine may have had the file since it was prepared, and what is written
	// in the lock file may be of a time when others had it.
	if o := readOwner(l.file); !o.shared || o.clock != clock {
		return nil, &retry{momentary, &FileError{Path: path, What: ErrInUse, Detail: o.otherClock()}}
	}
	return l, nil
}

// prepare runs f while this process has the file alone.
func (l *Lock) prepare(clock string, f func() error) error {
	o := newOwner()
	o.shared, o.clock = true, clock
	if err := o.write(l.file); err != nil {
		return Describe(l.name, err)
	}
	return f()
}

// retry is the error of a lock that another process has. One that prepares the
// file has it for as long as that takes.
func (l *Lock) retry(path string, err error) error {
	if !errors.Is(err, errLocked) {
		return Describe(l.name, err)
	}
	within := momentary
	if readOwner(l.file).shared {
		within = prepareTimeout
	}
	return &retry{within, l.refusal(path, err)}
}

// prepareTimeout is how long a process waits for another that prepares the file: a
// large one gets its indexes.
const prepareTimeout = 30 * time.Second

func openLock(path string) (*Lock, error) {
	name := path + ".lock"
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, Describe(name, err)
	}
	return &Lock{file: file, name: name}, nil
}

func (l *Lock) refusal(path string, err error) error {
	if errors.Is(err, errLocked) {
		return &FileError{Path: path, What: ErrInUse, Detail: readOwner(l.file).refusal()}
	}
	return Describe(l.name, err)
}

// Stands says whether the lock file is still the one that is locked. If it was
// deleted, others lock another one and know nothing of this process.
func (l *Lock) Stands() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.name)
	return err == nil && os.SameFile(mine, there)
}

// Unlock unlocks the database, by closing the file.
func (l *Lock) Unlock() error {
	if l == nil || l.file == nil {
		return nil
	}
	var err error
	if !l.shared { // else others may still have it
		err = l.file.Truncate(0)
	}
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

// owner is what a lock file says: who has locked it alone, or who was the first of
// those that share it.
type owner struct {
	pid, host, since, reach string
	shared                  bool
	clock                   string // by which those that share it count time
}

func newOwner() owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return owner{pid: fmt.Sprint(os.Getpid()), host: host, since: time.Now().UTC().Format(time.RFC3339)}
}

func (o owner) write(file *os.File) error {
	text := fmt.Sprintf("pid: %s\nhost: %s\nsince: %s\n", o.pid, o.host, o.since)
	if o.reach != "" {
		text += "reach: " + o.reach + "\n"
	}
	if o.shared {
		text += "mode: shared\nclock: " + o.clock + "\n"
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// readOwner reads what write wrote, if the other process has done so yet.
func readOwner(file *os.File) owner {
	fields := map[string]string{}
	for lines := bufio.NewScanner(io.NewSectionReader(file, 0, 1<<16)); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ": "); ok {
			fields[key] = value
		}
	}
	return owner{
		pid: fields["pid"], host: fields["host"], since: fields["since"], reach: fields["reach"],
		shared: fields["mode"] == "shared", clock: fields["clock"],
	}
}

// refusal says who has the file, and what to do.
func (o owner) refusal() string {
	switch {
	case o.pid == "":
		return "is in use by another process; use that one instead, or stop it first"
	case o.shared:
		return fmt.Sprintf("is in use in shared mode, by process %s on host %s since %s or others that came later; "+
			"open it with ?mode=shared too, or stop them first", o.pid, o.host, o.since)
	}
	s := fmt.Sprintf("is in use by process %s on host %s since %s", o.pid, o.host, o.since)
	if o.reach == "" {
		return s + "; use that process instead, or stop it first"
	}
	return s + fmt.Sprintf(", which can be reached at %s; go there instead, or stop it first", o.reach)
}

// otherClock refuses a process that counts time by another clock.
func (o owner) otherClock() string {
	return fmt.Sprintf("is shared by processes whose boot clock is another one, the first of them process %s on host %s since %s; "+
		"only processes of one machine and one time namespace can share it", o.pid, o.host, o.since)
}

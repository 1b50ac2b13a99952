package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testchild"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
)

// A second process is refused, and the error says who has the file and where.
func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, &Options{Reach: "http://127.0.0.1:8105"})
	said := testchild.Run(t, "open", path)
	host, _ := os.Hostname()
	for _, want := range []string{
		path, fmt.Sprintf("in use by process %d", os.Getpid()), host, "http://127.0.0.1:8105", "stop it first",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("a second process was told %q, want it to say %q", said, want)
		}
	}
	mustAcquire(t, s, "r") // and the first goes on
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said := testchild.Run(t, "open", path); said != "opened" {
		t.Errorf("after Close a second process was told %q", said)
	}
}

// TestSecondStore of the same process is refused too, also by another name of
// the same file, and does the first no harm.
func TestSecondStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "leases.db")
	s := newStore(t, path, nil)
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		_, err := Open(t.Context(), name, nil)
		if !errors.Is(err, ErrInUse) || leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
			t.Errorf("second Open(%q) = %v, want ErrInUse", name, err)
		}
		if e := (*leasehold.Error)(nil); !errors.As(err, &e) || e.Op != "open" || e.Store != "sqlite" {
			t.Errorf("second Open(%q) = %#v, want an *Error of open", name, err)
		}
	}
	mustAcquire(t, s, "r")
	if said := testchild.Run(t, "open", path); !strings.Contains(said, "in use") {
		t.Errorf("a second process was told %q", said)
	}
}

// TestLockOfADeadProcess blocks nobody, whatever it says.
func TestLockOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	cmd := testchild.Command(context.Background(), "hammer", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if _, err := Open(t.Context(), path, nil); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("Open() while the child lives = %v, want ErrInUse naming %d", err, cmd.Process.Pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	newStore(t, path, nil)
}

// TestLockWithoutAnOwner: the other process may not have signed yet.
func TestLockWithoutAnOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	held, err := dbfile.LockAlone(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	if err := os.Truncate(path+".lock", 0); err != nil {
		t.Fatal(err)
	}
	_, err = dbfile.LockAlone(path, "")
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("lockDatabase() = %v, want ErrInUse by another process", err)
	}
}

// TestLockedBySQLite: another program may lock the database itself.
func TestLockedBySQLite(t *testing.T) {
	defer func(d time.Duration) { dbfile.BusyTimeout = d }(dbfile.BusyTimeout)
	dbfile.BusyTimeout = 100 * time.Millisecond
	path := filepath.Join(t.TempDir(), "leases.db")
	newStore(t, path, nil).Close()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE"} {
		if err := dbfile.Run(conn, sql); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Open(t.Context(), path, nil)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "locked by another program") {
		t.Errorf("Open() of a locked database = %v, want ErrInUse", err)
	}
	if err := dbfile.Run(conn, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	newStore(t, path, nil)
}

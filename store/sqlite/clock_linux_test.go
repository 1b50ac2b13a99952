package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testchild"
)

func init() { children["remaining"] = printRemaining }

// printRemaining prints how long the lease on r has left, and for how long this
// process can have shortened it.
func printRemaining(path string) error {
	began := time.Now()
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		return err
	}
	status, err := s.Status(context.Background(), "r")
	if err != nil {
		return err
	}
	if !status.Locked() {
		return errors.New("the lease is gone")
	}
	fmt.Println(int64(status.Lease.Remaining), int64(time.Since(began)))
	return s.Close()
}

// TestTimeNamespace opens a file in the time namespace that it was written in,
// and in another one, whose boot clock is a day ahead: there nobody can say how
// long the engine was down.
func TestTimeNamespace(t *testing.T) {
	unshare := []string{"unshare", "--user", "--map-root-user", "--time", "--boottime", "86400"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		// TestDowntimeCounts shows the same with another name in the file.
		t.Logf("NOT SHOWN: this machine lets nobody make a time namespace: %v: %s", err, out)
		return
	}
	began := time.Now()
	if passed, down, _ := passedIn(t); passed < down || passed > time.Since(began) {
		t.Errorf("in the same namespace %v have passed, want %v to %v", passed, down, time.Since(began))
	}
	if passed, _, open := passedIn(t, unshare...); passed > open {
		t.Errorf("in another namespace %v have passed, want %v at most: as long as somebody had the file open", passed, open)
	}
}

// passedIn has a lease on r looked at by a process that is started by the
// command. It returns how much of the lease has passed, for how long at least
// nobody had the file open, and for how long at most somebody had.
func passedIn(t *testing.T, command ...string) (passed, down, open time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leases.db")
	began := time.Now()
	s := newStore(t, path, nil)
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Hour})
	if err != nil {
		t.Fatalf("Acquire() = %v", err)
	}
	s.Close()
	open = time.Since(began)
	down = 300 * time.Millisecond
	time.Sleep(down) // real processes: there is no bubble to wait in
	cmd := testchild.Command(t.Context(), "remaining", path)
	if len(command) > 0 {
		wrapped := exec.CommandContext(t.Context(), command[0], append(command[1:], cmd.Args...)...)
		wrapped.Env, wrapped.Stderr = cmd.Env, os.Stderr
		cmd = wrapped
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the child = %v, saying %s", err, out)
	}
	var left, childs int64
	if _, err := fmt.Sscan(string(out), &left, &childs); err != nil {
		t.Fatalf("the child said %q: %v", out, err)
	}
	return g.TTL - time.Duration(left), down, open + time.Duration(childs)
}

//go:build unix

package shared

import (
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
	"github.com/leasehold/leasehold/store/sqlite"
)

// unixChildren need a system with users and limits.
var unixChildren = map[string]func(path string) error{"readonly": openWithoutRights, "full": fillDisk}

// openWithoutRights prints how opening goes for a user whom the file does not belong
// to.
func openWithoutRights(path string) error {
	if err := testchild.DropRights(); err != nil {
		return err
	}
	_, err := Open(context.Background(), path, nil)
	fmt.Printf("readonly=%v unavailable=%v %v\n", errors.Is(err, sqlite.ErrReadOnly), errors.Is(err, leasehold.ErrUnavailable), err)
	return nil
}

func TestOpenReadOnly(t *testing.T) {
	for name, c := range map[string]struct{ file, dir, lock os.FileMode }{
		"file":      {file: 0o444, dir: 0o777, lock: 0o666},
		"directory": {file: 0o666, dir: 0o555, lock: 0},
		"companion": {file: 0o666, dir: 0o555, lock: 0o666}, // the lock is there, the log cannot be made
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "leases.db")
			newStore(t, path, nil).Close()
			chmod(t, filepath.Dir(dir), 0o755) // made for its owner only
			if c.lock == 0 {
				os.Remove(path + ".lock")
			} else {
				chmod(t, path+".lock", c.lock)
			}
			chmod(t, path, c.file)
			chmod(t, dir, c.dir)
			defer chmod(t, dir, 0o755)
			said := testchild.Run(t, "readonly", path)
			if !strings.HasPrefix(said, "readonly=true unavailable=true ") || !strings.Contains(said, "check the rights") {
				t.Errorf("Open() of what cannot be written: %s", said)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk shows a disk without space, to a process whose files may not grow any
// more: what was granted stays, what was refused is not there, and with space it goes
// on.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	said := testchild.Run(t, "full", path)
	t.Log(said)
	if !strings.HasSuffix(said, "works again") {
		t.Errorf("the process on a full disk said:\n%s", said)
	}
}

func fillDisk(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := testchild.LimitFiles(256 << 10); err != nil {
		return err
	}
	var granted, refused []string
	for i := 0; len(refused) < 20; i++ {
		resource := fmt.Sprint("r", i)
		_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour,
			Metadata: map[string]string{"ballast": strings.Repeat("x", 1000)}})
		switch {
		case err == nil:
			granted = append(granted, resource)
			continue
		case !errors.Is(err, leasehold.ErrUnavailable):
			return fmt.Errorf("on a full disk: %w, want unavailable", err)
		case len(refused) == 0:
			fmt.Printf("%d granted, then: %v\n", len(granted), err)
		}
		refused = append(refused, resource)
	}
	if err := check(ctx, s, granted, refused); err != nil {
		return fmt.Errorf("while full: %w", err)
	}
	if err := testchild.LimitFiles(1 << 40); err != nil {
		return err
	}
	for _, resource := range refused {
		if _, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour}); err != nil {
			return fmt.Errorf("with space again: %w", err)
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(ctx, path, nil); err != nil {
		return err
	}
	if err := check(ctx, s, append(granted, refused...), nil); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	fmt.Println("works again")
	return s.Close()
}

// check: whatever was granted is held, whatever was refused is not.
func check(ctx context.Context, s *Store, granted, refused []string) error {
	for i, resource := range append(granted[:len(granted):len(granted)], refused...) {
		status, err := s.Status(ctx, resource)
		if err != nil || status.Locked() != (i < len(granted)) {
			return fmt.Errorf("%s is held: %v, %v", resource, status.Locked(), err)
		}
	}
	return nil
}

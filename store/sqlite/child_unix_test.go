//go:build unix

package sqlite

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
)

func init() {
	children["readonly"] = openWithoutRights
	children["full"] = fillDisk
}

// openWithoutRights opens the store as a user who may not write to it: rights
// do not stop root.
func openWithoutRights(path string) error {
	if err := testchild.DropRights(); err != nil {
		return err
	}
	_, err := Open(context.Background(), path, nil)
	fmt.Printf("readonly=%v unavailable=%v %v\n", errors.Is(err, ErrReadOnly), errors.Is(err, leasehold.ErrUnavailable), err)
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
			untouched(t, path, func() {
				said := testchild.Run(t, "readonly", path)
				if !strings.HasPrefix(said, "readonly=true unavailable=true ") || !strings.Contains(said, "check the rights") {
					t.Errorf("Open() of what cannot be written: %s", said)
				}
			})
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk shows a disk without space, to a process whose files may not
// grow any more.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	said := testchild.Run(t, "full", path)
	t.Log(said)
	if !strings.HasSuffix(said, "works again") {
		t.Errorf("the process on a full disk said:\n%s", said)
	}
}

// fillDisk acquires until nothing can be written, checks that what was granted
// is there and what was refused is not, makes room, and goes on.
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
	granted, refused := fill(ctx, s, 20)
	fmt.Printf("%d granted, then: %v\n", len(granted), refused[0].err)
	if err := checkFull(ctx, s, granted, refused); err != nil {
		return fmt.Errorf("while full: %w", err)
	}
	if err := testchild.LimitFiles(1 << 40); err != nil {
		return err
	}
	for _, r := range refused {
		if err := retry(ctx, s, r.resource); err != nil {
			return err
		}
		granted = append(granted, r.resource)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(ctx, path, nil); err != nil {
		return err
	}
	if err := checkFull(ctx, s, granted, nil); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	fmt.Println("works again")
	return s.Close()
}

type refusal struct {
	resource string
	err      error
}

// fill acquires one resource after the other until so many were refused.
func fill(ctx context.Context, s *Store, most int) (granted []string, refused []refusal) {
	for i := 0; len(refused) < most; i++ {
		resource := fmt.Sprintf("r%d", i)
		_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour,
			Metadata: map[string]string{"ballast": strings.Repeat("x", 1000)}})
		if err == nil {
			granted = append(granted, resource)
		} else {
			refused = append(refused, refusal{resource, err})
		}
	}
	return granted, refused
}

// checkFull: whatever was granted is held, whatever was refused is not. While
// the engine reads its file again it may say that it is not available.
func checkFull(ctx context.Context, s *Store, granted []string, refused []refusal) error {
	for _, resource := range granted {
		if locked, err := locked(ctx, s, resource); err != nil || !locked {
			return fmt.Errorf("%s was granted and is %v, %v", resource, locked, err)
		}
	}
	for _, r := range refused {
		if !errors.Is(r.err, leasehold.ErrUnavailable) && !errors.Is(r.err, leasehold.ErrUnknown) {
			return fmt.Errorf("acquire %s = %w, want unavailable", r.resource, r.err)
		}
		if locked, err := locked(ctx, s, r.resource); err != nil || locked {
			return fmt.Errorf("%s was refused and is %v, %v", r.resource, locked, err)
		}
	}
	return nil
}

func locked(ctx context.Context, s *Store, resource string) (bool, error) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		status, err := s.Status(ctx, resource)
		if err == nil || time.Now().After(deadline) {
			return status.Locked(), err
		}
		time.Sleep(5 * time.Millisecond) // a real process on a real file: there is no bubble to wait in
	}
}

func retry(ctx context.Context, s *Store, resource string) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour})
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond) // as above
	}
}

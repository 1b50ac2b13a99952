//go:build unix

package content

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/internal/testchild"
)

func init() {
	children["full"] = fillDisk
}

func TestMode(t *testing.T) {
	s := newStore(t, nil)
	c := mustWrite(t, s, noise(1, InlineLimit+1))
	for path, want := range map[string]fs.FileMode{
		s.path(c.ID): 0o600, s.folderPath(0): fs.ModeDir | 0o700, s.tmp: fs.ModeDir | 0o700, s.dir: fs.ModeDir | 0o700,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("Stat(%s) = %v, %v, want mode %v", path, info, err, want)
		}
	}
}

// TestFullDisk shows a disk without space, to a process whose files may not
// grow any more.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	said, err := testchild.Command(t.Context(), "full", dir).Output()
	t.Logf("%s", said)
	if err != nil || !strings.HasSuffix(string(said), "works again\n") {
		t.Errorf("the process on a full disk = %v", err)
	}
}

// fillDisk writes more than there is room for, checks that this leaves nothing
// behind and harms nothing, makes room, and goes on.
func fillDisk(dir string) error {
	s, err := Open(dir, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := testchild.LimitFiles(256 << 10); err != nil {
		return err
	}
	fits, _, err := s.Write(io.LimitReader(zeros{}, 100<<10), -1, 1<<20)
	if err != nil {
		return fmt.Errorf("a chunk for which there is room: %w", err)
	}
	for _, size := range []int64{1 << 20, -1} {
		_, _, err = s.Write(io.LimitReader(zeros{}, 1<<20), size, 1<<20)
		fmt.Println(err)
		if !errors.Is(err, syscall.EFBIG) || errors.Is(err, ErrSource) {
			return fmt.Errorf("a chunk for which there is no room: %w", err)
		}
		if err := onlyFile(s, fits); err != nil {
			return err
		}
	}
	if err := testchild.LimitFiles(1 << 40); err != nil {
		return err
	}
	again, _, err := s.Write(bytes.NewReader(make([]byte, 1<<20)), 1<<20, 1<<20)
	if err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	if err := errors.Join(s.Check(fits), s.Check(again)); err != nil {
		return err
	}
	fmt.Println("works again")
	return nil
}

// onlyFile checks that there is no file but this chunk's.
func onlyFile(s *Store, c Chunk) error {
	entries, err := os.ReadDir(s.tmp)
	if err != nil || len(entries) > 0 {
		return fmt.Errorf("tmp has %v, %w", entries, err)
	}
	if entries, err = os.ReadDir(s.folderPath(0)); err != nil || len(entries) != 1 {
		return fmt.Errorf("chunks has %v, %w", entries, err)
	}
	return s.Check(c)
}

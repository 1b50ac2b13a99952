package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testchild"
)

func init() { children["reserve"] = liveOnReserve }

// onSmallDisk makes a child see a file system of that size at dir. Its user need
// not be root: it is in a user namespace of its own.
func onSmallDisk() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// TestReserve fills a real file system to the last byte: leases go on, and so
// does a store that is opened only then; when there is room the reserve is back.
func TestReserve(t *testing.T) {
	cmd := testchild.Command(t.Context(), "reserve", filepath.Join(t.TempDir(), "leases.db"))
	cmd.SysProcAttr = onSmallDisk()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child = %v, saying:\n%s", err, out)
	}
	t.Logf("%s", out)
	if !strings.HasSuffix(string(out), "restored\n") {
		t.Errorf("the process on a full disk said:\n%s", out)
	}
}

const testReserve = 8 << 20

func liveOnReserve(path string) error {
	restoreEvery = 20 * time.Millisecond
	dir := filepath.Dir(path)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	opts := &Options{Reserve: testReserve}
	s, err := Open(context.Background(), path, opts)
	if err != nil {
		return err
	}
	if f := s.Figures(); f.Disk.Reserve != testReserve || f.Disk.Free <= 0 || f.Disk.Free+f.Disk.Reserve+f.Disk.Database > 24<<20 {
		return fmt.Errorf("Figures with a reserve of %d on a disk of 24 MiB = %+v", testReserve, f)
	}
	if err := fillWith(dir, s); err != nil {
		return err
	}
	if f := s.Figures(); f.Disk.Reserve != testReserve || f.Disk.Free != 0 {
		return fmt.Errorf("Figures on a full disk = %+v, want nothing free but the reserve", f)
	}
	if err := holdMany(s, "first"); err != nil {
		return fmt.Errorf("on a full disk: %w", err)
	}
	if !s.LowOnSpace() || taken(path) != 0 {
		return fmt.Errorf("low on space: %v, %d bytes in reserve; want it given up", s.LowOnSpace(), taken(path))
	}
	if f := s.Figures(); f.Disk.Reserve != 0 || f.CommitFailures != 0 { // whoever commits does not notice
		return fmt.Errorf("Figures on a full disk = %+v, want no reserve and no failure", f)
	}
	fmt.Println("given up")
	if err := s.Backup(context.Background(), filepath.Join(dir, "backup")); !errors.Is(err, ErrFull) {
		return fmt.Errorf("Backup on a full disk = %v, want ErrFull", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(context.Background(), path, opts); err != nil {
		return fmt.Errorf("opened on a full disk: %w", err)
	}
	if err := holdMany(s, "second"); err != nil {
		return fmt.Errorf("opened on a full disk: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		return err
	}
	if err := restored(s, path); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	// A disk that fills up while nobody has the store open.
	if err := fillWith(dir, nil); err != nil {
		return err
	}
	if s, err = Open(context.Background(), path, opts); err != nil {
		return fmt.Errorf("opened on a disk that is full but for the reserve: %w", err)
	}
	if err := holdMany(s, "third"); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		return err
	}
	if err := restored(s, path); err != nil {
		return err
	}
	fmt.Println("restored")
	return s.Close()
}

// fillWith fills the disk with a file until not a byte fits.
func fillWith(dir string, s *Store) error {
	file, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for size := 1 << 20; size > 0; {
		if _, err := file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if s != nil && s.LowOnSpace() {
		return errors.New("the reserve was given up before anybody needed it")
	}
	return file.Close()
}

// holdMany acquires, renews and releases a thousand leases: none may fail.
func holdMany(s *Store, name string) error {
	ctx := context.Background()
	for i := range 1000 {
		resource := fmt.Sprintf("%s-%d", name, i)
		g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour,
			Metadata: map[string]string{"ballast": strings.Repeat("x", 1000)}})
		if err == nil {
			_, err = s.Renew(ctx, leasehold.RenewRequest{ID: g.ID})
		}
		if err == nil {
			_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID})
		}
		if err != nil {
			return fmt.Errorf("lease %d: %w", i, err)
		}
	}
	return nil
}

// taken is how much of the disk the reserve takes up.
func taken(path string) int64 {
	info, err := os.Stat(path + ".reserve")
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

func restored(s *Store, path string) error {
	for deadline := time.Now().Add(30 * time.Second); s.LowOnSpace(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("the reserve is not restored")
		}
	}
	if n := s.Figures().Disk.Reserve; n != testReserve {
		return fmt.Errorf("Figures say %d bytes in reserve, want %d", n, testReserve)
	}
	if n := taken(path); n != testReserve {
		return fmt.Errorf("the reserve takes up %d bytes, want %d", n, testReserve)
	}
	return nil
}

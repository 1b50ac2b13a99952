//go:build unix

package azuretest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFsck damages the data of a server and checks that fsck finds it: a check
// that cannot fail proves nothing.
func TestFsck(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.container("fsck")
	for _, name := range []string{"damaged", "missing", "kept"} {
		if _, err := c.NewBlockBlobClient(name).Upload(t.Context(), body(piece{size: 100 << 10}), nil); err != nil {
			t.Fatalf("Upload() = %v", err)
		}
	}
	s.kill()
	s.wantSound()
	chunks := s.chunks()
	if len(chunks) != 3 {
		t.Fatalf("three blobs have the files %q, want one each", chunks)
	}
	orphan := filepath.Join(filepath.Dir(chunks[0]), "999")
	if err := os.WriteFile(orphan, []byte("nobody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a check changes nothing
		if code, report := s.fsck(); code != 1 || !strings.Contains(report, "999") {
			t.Errorf("fsck with an orphan = %d, want 1: %s", code, report)
		}
	}
	s.wantSound()
	if _, err := os.Stat(orphan); !os.IsNotExist(err) {
		t.Errorf("the orphan is still there after fsck --repair: %v", err)
	}

	flip(t, chunks[0])
	s.wantDamage("a flipped bit")
	flip(t, chunks[0])
	s.wantSound()
	if err := os.Truncate(chunks[0], 10); err != nil {
		t.Fatal(err)
	}
	s.wantDamage("a short file")
	if err := os.Remove(chunks[1]); err != nil {
		t.Fatal(err)
	}
	s.wantDamage("a missing file")

	s.start() // it serves what is not damaged
	c = s.sdk(s.newTransport(1)).NewContainerClient("fsck")
	if _, err := download(t.Context(), c.NewBlockBlobClient("kept")); err != nil {
		t.Errorf("DownloadStream(kept) = %v", err)
	}
	for _, name := range []string{"damaged", "missing"} {
		if got, err := download(t.Context(), c.NewBlockBlobClient(name)); err == nil {
			t.Errorf("DownloadStream(%s) = %d bytes, want an error", name, len(got))
		}
	}
}

// wantDamage: damage is reported, also after a repair.
func (s *server) wantDamage(what string) {
	s.Helper()
	for _, flags := range [][]string{nil, {"--repair"}} {
		if code, report := s.fsck(flags...); code != 1 || !strings.Contains(report, "problem") {
			s.Errorf("fsck %q with %s = %d, want 1: %s", flags, what, code, report)
		}
	}
}

// chunks returns the files of the content, the oldest first.
func (s *server) chunks() (paths []string) {
	s.Helper()
	err := filepath.WalkDir(filepath.Join(s.data, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return paths
}

func flip(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

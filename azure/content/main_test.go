package content

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold/leasehold/internal/testchild"
)

// children are the parts. Each gets the directory of a store.
var children = map[string]func(dir string) error{
	"writeUntilKilled": writeUntilKilled,
}

func TestMain(m *testing.M) {
	testchild.Main(children)
	os.Exit(m.Run())
}

func newStore(t testing.TB, o *Options) *Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "content"), o)
}

func openStore(t testing.TB, dir string, o *Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatalf("Open(%q) = %v", dir, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// throwAway is for tests in which no power cut is to be feared.
var throwAway = &Options{NoSync: true}

// noise returns bytes that look random and are the same for the same seed.
func noise(seed uint64, size int) []byte {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	p := make([]byte, size)
	rand.NewChaCha8(key).Read(p)
	return p
}

func mustWrite(t testing.TB, s *Store, data []byte) Chunk {
	t.Helper()
	c, _, err := s.Write(bytes.NewReader(data), int64(len(data)), int64(len(data)))
	if err != nil {
		t.Fatalf("Write(%d bytes) = %v", len(data), err)
	}
	return c
}

// readAll reads a range to its end.
func readAll(s *Store, c Chunk, offset, n int64) ([]byte, error) {
	r, err := s.Reader(c, offset, n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// tree returns the names of the files below a directory, sorted.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// mkfile makes a file and the directories above it.
func mkfile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

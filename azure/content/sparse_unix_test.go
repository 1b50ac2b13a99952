//go:build unix

package content

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// spaceOf is how many bytes of the disk a chunk's file takes up.
func spaceOf(t *testing.T, s *Store, c Chunk) int64 {
	t.Helper()
	info, err := os.Stat(s.path(c.ID))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// TestZerosTakeNoSpace: runs of zeros are left out of the file, wherever they
// begin and end, and read back as what they were.
func TestZerosTakeNoSpace(t *testing.T) {
	s := newStore(t, nil)
	const size = 2 << 20
	for _, data := range [][2]int{{0, 0}, {0, 1}, {size - 1, size}, {4095, 4097}, {1 << 20, 1<<20 + 8192}, {bufferSize - 1, bufferSize + 1}, {1_500_001, 1_600_001}} {
		body := make([]byte, size)
		copy(body[data[0]:data[1]], noise(1, data[1]-data[0]))
		for _, cut := range []int{0, 1, 4095} { // sizes that are no multiple of anything
			body := body[:size-cut]
			name := fmt.Sprintf("%d bytes, %d to %d not zero", len(body), data[0], data[1])
			c, sums, err := s.Write(bytes.NewReader(body), int64(len(body)), size)
			if err != nil {
				t.Fatalf("Write(%s) = %v", name, err)
			}
			if sums.MD5 != md5.Sum(body) {
				t.Errorf("Write(%s): another MD5", name)
			}
			got, err := readAll(s, c, 0, c.Size)
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("reading %s = %d bytes, %v; want what was written", name, len(got), err)
			}
			if used, most := spaceOf(t, s, c), int64(data[1]-data[0]+4*sparseUnit); used > most {
				t.Errorf("%s take up %d bytes, want at most %d", name, used, most)
			}
			s.Discard(c)
		}
	}
}

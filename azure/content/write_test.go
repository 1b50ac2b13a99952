package content

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

var sizes = []int{0, 1, 7, 4096, InlineLimit - 1, InlineLimit, InlineLimit + 1, bufferSize - 1, bufferSize, bufferSize + 1, 1<<20 + 17}

// TestWriteSizes: what was written comes back, with the right sums, and small
// things make no files.
func TestWriteSizes(t *testing.T) {
	s := newStore(t, nil)
	table := crc64.MakeTable(polynomial)
	var files int
	last := int64(0)
	for _, size := range sizes {
		for _, announced := range []bool{true, false} {
			name := fmt.Sprintf("Write(%d bytes, announced: %v)", size, announced)
			data := noise(uint64(size), size)
			n := int64(-1)
			if announced {
				n = int64(size)
			}
			c, sums, err := s.Write(iotest.HalfReader(bytes.NewReader(data)), n, int64(size))
			if err != nil {
				t.Fatalf("%s = %v", name, err)
			}
			if want := (Sums{MD5: md5.Sum(data), CRC: crc64.Checksum(data, table)}); sums != want || c.CRC != want.CRC {
				t.Errorf("%s = sums %x, CRC %x, want %x", name, sums, c.CRC, want)
			}
			if c.Size != int64(size) || c.ID <= last {
				t.Errorf("%s = size %d, id %d after %d, want %d and larger ids", name, c.Size, c.ID, last, size)
			}
			last = c.ID
			if inline := c.Inline != nil; inline != (size <= InlineLimit) {
				t.Errorf("%s is inline: %v", name, inline)
			}
			if size > InlineLimit {
				files++
			}
			got, err := readAll(s, c, 0, c.Size)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("reading after %s = %d bytes, %v, want what was written", name, len(got), err)
			}
			if err := s.Check(c); err != nil {
				t.Errorf("Check() after %s = %v", name, err)
			}
		}
	}
	if got := tree(t, s.dir); len(got) != files {
		t.Errorf("files: %q, want %d", got, files)
	}
}

// TestWriteRefused: what breaks its word is refused and leaves nothing behind.
func TestWriteRefused(t *testing.T) {
	broken := errors.New("the line is cut")
	const small, large = 1000, 300_000
	for name, c := range map[string]struct {
		sends, size, limit int64
		fails              error // of the reader, after what it sends
		want               error
	}{
		"short, small":                {small - 1, small, large, nil, ErrShort},
		"nothing, small":              {0, small, large, nil, ErrShort},
		"short, large":                {large - 1, large, large, nil, ErrShort},
		"short, large but sent small": {small, large, large, nil, ErrShort},
		"nothing, large":              {0, large, large, nil, ErrShort},
		"long, none":                  {1, 0, large, nil, ErrTooLarge},
		"long, small":                 {small + 1, small, large, nil, ErrTooLarge},
		"long, small by a lot":        {large, small, large, nil, ErrTooLarge},
		"long, large":                 {large + 1, large, 2 * large, nil, ErrTooLarge},
		"announced beyond the limit":  {small, small, small - 1, nil, ErrTooLarge},
		"beyond the limit, small":     {small + 1, -1, small, nil, ErrTooLarge},
		"beyond the limit, large":     {large + 1, -1, large, nil, ErrTooLarge},
		"cut, small":                  {small - 1, small, large, broken, broken},
		"cut after the last, small":   {small, small, large, broken, broken},
		"cut, large":                  {large - 1, large, large, broken, broken},
		"cut after the last, large":   {large, large, large, broken, broken},
		"cut, size unknown":           {small, -1, large, broken, broken},
		"cut, large, size unknown":    {large, -1, large, broken, broken},
		"cut as HTTP says it":         {small - 1, small, large, io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
		"silence":                     {small - 1, small, large, io.ErrNoProgress, io.ErrNoProgress},
		"silence, large":              {large - 1, large, large, io.ErrNoProgress, io.ErrNoProgress},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, nil)
			r := io.LimitReader(zeros{}, c.sends)
			switch {
			case errors.Is(c.fails, io.ErrNoProgress):
				r = io.MultiReader(r, silent{})
			case c.fails != nil:
				r = io.MultiReader(r, iotest.ErrReader(c.fails))
			}
			got, sums, err := s.Write(r, c.size, c.limit)
			if !errors.Is(err, c.want) || errors.Is(err, ErrSource) != (c.fails != nil) {
				t.Errorf("Write() = %v, want %v", err, c.want)
			}
			if got.ID != 0 || got.Inline != nil || sums != (Sums{}) {
				t.Errorf("Write() = %+v, %+v beside its error, want nothing", got, sums)
			}
			if strings.Count(err.Error(), "content:") > 1 && c.fails == nil {
				t.Errorf("Write() = %q, which names the package twice", err)
			}
			if left := tree(t, s.dir); len(left) > 0 {
				t.Errorf("Write() left %q behind", left)
			}
		})
	}
}

// silent brings neither bytes nor an end.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// TestWriteReadsNoFurther: a sender that announces too much is not listened to.
func TestWriteReadsNoFurther(t *testing.T) {
	s := newStore(t, nil)
	if _, _, err := s.Write(iotest.ErrReader(errors.New("was read")), 11, 10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Write() of 11 bytes, limit 10 = %v, want %v", err, ErrTooLarge)
	}
}

// TestWriteMemory: a large stream takes no more memory than a small one.
func TestWriteMemory(t *testing.T) {
	s := newStore(t, throwAway)
	for _, announced := range []int64{8 << 20, -1} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, _, err := s.Write(io.LimitReader(zeros{}, 8<<20), announced, 8<<20)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		s.Discard(c)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(InlineLimit+2*bufferSize); got > most {
			t.Errorf("Write() of 8 MiB allocated %d bytes in all, want at most %d", got, most)
		}
	}
}

// TestSmallWriteIsCheap: the bytes themselves are all that is allocated.
func TestSmallWriteIsCheap(t *testing.T) {
	s := newStore(t, nil)
	r := bytes.NewReader(noise(1, 1000))
	got := testing.AllocsPerRun(100, func() {
		r.Seek(0, io.SeekStart)
		if _, _, err := s.Write(r, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1 && !raceEnabled {
		t.Errorf("Write() of 1000 bytes allocates %v times, want once", got)
	}
}

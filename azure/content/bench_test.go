package content

import (
	"crypto/md5"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold/leasehold/internal/fsutil"
)

// zeros is an endless reader that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func BenchmarkCRC(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 64 << 10} {
		p := make([]byte, size)
		b.Run(fmt.Sprintf("ours/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				UpdateCRC(0, p)
			}
		})
		b.Run(fmt.Sprintf("standard/%d", size), func(b *testing.B) {
			t := crc64.MakeTable(polynomial)
			b.SetBytes(int64(size))
			for b.Loop() {
				crc64.Update(0, t, p)
			}
		})
		b.Run(fmt.Sprintf("md5/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				md5.Sum(p)
			}
		})
	}
}

// BenchmarkWrite has, beside each size, what io.Copy and a sync of file and
// directory take for it.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int64{1 << 10, InlineLimit, InlineLimit + 1, 4 << 20, 256 << 20} {
		b.Run(fmt.Sprintf("store/%d", size), func(b *testing.B) {
			s := newStore(b, nil)
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				c, _, err := s.Write(io.LimitReader(zeros{}, size), size, size)
				if err != nil {
					b.Fatal(err)
				}
				s.Discard(c)
			}
		})
		b.Run(fmt.Sprintf("plain/%d", size), func(b *testing.B) {
			dir := b.TempDir()
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				if err := plainWrite(dir, io.LimitReader(zeros{}, size)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func plainWrite(dir string, r io.Reader) error {
	file, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := io.Copy(file, r); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return fsutil.SyncDir(dir)
}

// BenchmarkWriteConcurrent shows what sharing a directory's sync gives.
func BenchmarkWriteConcurrent(b *testing.B) {
	s := newStore(b, nil)
	b.SetBytes(InlineLimit + 1)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c, _, err := s.Write(io.LimitReader(zeros{}, InlineLimit+1), InlineLimit+1, InlineLimit+1)
			if err != nil {
				b.Fatal(err)
			}
			s.Discard(c)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	s := newStore(b, nil)
	const size = 16 << 20
	c, _, err := s.Write(io.LimitReader(zeros{}, size), size, size)
	if err != nil {
		b.Fatal(err)
	}
	for name, n := range map[string]int64{"whole": size, "part": size - 1} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(n)
			buf := make([]byte, 64<<10)
			for b.Loop() {
				r, err := s.Reader(c, 0, n)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, buf); err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}

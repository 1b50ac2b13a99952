//go:build unix

package azuretest

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
)

// piece is content that can be made again from its seed.
type piece struct {
	seed  uint64
	size  int
	block string // the id of the block it is; "" if it was put in one piece
}

const maxPiece = 400 << 10

// noise is what all pieces are cut from.
var noise = func() []byte {
	b := make([]byte, 2*maxPiece)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}()

// newPiece is small enough for the database, or large enough for a file.
func newPiece() piece {
	sizes := []int{rand.IntN(8 << 10), 64<<10 + rand.IntN(100), 70<<10 + rand.IntN(maxPiece-70<<10)}
	return piece{seed: rand.Uint64(), size: sizes[rand.IntN(len(sizes))]}
}

// bytes makes the content. Pieces of eight bytes or more differ if their seeds
// do.
func (p piece) bytes() []byte {
	b := bytes.Clone(noise[p.seed%maxPiece:][:p.size])
	if p.size >= 8 {
		binary.BigEndian.PutUint64(b, p.seed)
	}
	return b
}

func body(p piece) io.ReadSeekCloser { return bytesBody(p.bytes()) }

// sumOf is the size and the hash of the pieces together.
func sumOf(pieces []piece) string {
	h := md5.New()
	var size int64
	for _, p := range pieces {
		h.Write(p.bytes())
		size += int64(p.size)
	}
	return sumText(size, h)
}

func sumOfBytes(b []byte) string { return fmt.Sprintf("%d bytes, %x", len(b), md5.Sum(b)) }

func sumText(size int64, h hash.Hash) string { return fmt.Sprintf("%d bytes, %x", size, h.Sum(nil)) }

// sumOfBody reads to the end without keeping the content.
func sumOfBody(r io.Reader) (sum string, size int64, err error) {
	h := md5.New()
	size, err = io.Copy(h, r)
	return sumText(size, h), size, err
}

// newVersion is a value for metadata.
func newVersion() string { return fmt.Sprint(rand.Uint32()) }

func metadata(version string) map[string]*string { return map[string]*string{"version": &version} }

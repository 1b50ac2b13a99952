package content

import (
	"bytes"
	"crypto/md5"
	"hash"
	"os"
	"sync"
)

// copyBuffer is what copying a stream needs, kept for the next one.
type copyBuffer struct {
	buf []byte
	md5 hash.Hash
}

var (
	copyBuffers = sync.Pool{New: func() any { return &copyBuffer{buf: make([]byte, bufferSize), md5: md5.New()} }}
	probes      = sync.Pool{New: func() any { return new([1]byte) }}
)

// copy writes the n bytes in the buffer and, unless the sender is done, the rest of
// what it sends.
func (w *copyBuffer) copy(file *os.File, in *source, n int, done bool) (Sums, error) {
	var sums Sums
	var at int64
	w.md5.Reset()
	for {
		w.md5.Write(w.buf[:n])
		sums.CRC = UpdateCRC(sums.CRC, w.buf[:n])
		if err := writeSparse(file, w.buf[:n], at); err != nil {
			return sums, diskError(err)
		}
		at += int64(n)
		if done {
			w.md5.Sum(sums.MD5[:0])
			return sums, nil
		}
		var err error
		if n, done, err = in.fill(w.buf); err != nil {
			return sums, err
		}
	}
}

// sparseUnit is what a file system can leave out.
const sparseUnit = 4 << 10

var zeroUnit [sparseUnit]byte

// writeSparse writes bytes into a new file, at a multiple of the unit, and leaves
// out units of zeros, which read as zeros all the same. So a copy of a page blob's
// gaps needs no space, however large they are.
func writeSparse(file *os.File, p []byte, at int64) error {
	for len(p) > 0 {
		zeros, data := 0, 0
		for len(p)-zeros >= sparseUnit && bytes.Equal(p[zeros:zeros+sparseUnit], zeroUnit[:]) {
			zeros += sparseUnit
		}
		p, at = p[zeros:], at+int64(zeros)
		for data < len(p) && (len(p)-data < sparseUnit || !bytes.Equal(p[data:data+sparseUnit], zeroUnit[:])) {
			data = min(data+sparseUnit, len(p))
		}
		if data == 0 {
			return nil
		}
		if _, err := file.WriteAt(p[:data], at); err != nil {
			return err
		}
		p, at = p[data:], at+int64(data)
	}
	return nil
}

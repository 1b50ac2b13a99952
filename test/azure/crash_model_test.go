//go:build unix

package azuretest

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"maps"
	"math/rand/v2"
)

// piece is some content that can be made again.
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

// bytes makes the content. No two seeds make the same, if they are eight bytes
// or more.
func (p piece) bytes() []byte {
	b := bytes.Clone(noise[p.seed%maxPiece:][:p.size])
	if p.size >= 8 {
		binary.BigEndian.PutUint64(b, p.seed)
	}
	return b
}

// sumOf tells contents apart.
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

// sumOfBody reads to the end, without keeping it: there is much to read after
// every crash.
func sumOfBody(r io.Reader) (sum string, size int64, err error) {
	h := md5.New()
	size, err = io.Copy(h, r)
	return sumText(size, h), size, err
}

// The states of a lease, in Azure's words.
const (
	available = "available"
	leased    = "leased"
	breaking  = "breaking"
	broken    = "broken"
)

// blob is what a worker knows of one of its blobs. Values are never changed, so
// that one can be what is known and another what may come of an operation.
type blob struct {
	there     bool
	sum       string
	version   string            // kept in the metadata
	snapshots map[string]string // sums, by id
	state     string            // of the lease
	id        string            // of the lease, where leased, breaking or broken
	pieces    []piece           // what it is made of; nil after a copy
}

// unheard is the id of a snapshot whose id nobody was told.
const unheard = "?"

var nothing = blob{state: available}

// String leaves the id of the lease out.
func (b blob) String() string {
	if !b.there {
		return "no blob"
	}
	return fmt.Sprintf("a blob of %s, version %s, %s, with snapshots %v", b.sum, b.version, b.state, b.snapshots)
}

// written is the blob after a write of its content: a lease that was broken is
// forgotten.
func (b blob) written(pieces []piece, sum, version string) blob {
	b.there, b.pieces, b.sum, b.version = true, pieces, sum, version
	if b.state == broken {
		b.state, b.id = available, ""
	}
	return b
}

// with is the blob with one more snapshot.
func (b blob) with(id, sum string) blob {
	b.snapshots = maps.Clone(b.snapshots)
	if b.snapshots == nil {
		b.snapshots = map[string]string{}
	}
	b.snapshots[id] = sum
	return b
}

// without is the blob with one snapshot less.
func (b blob) without(id string) blob {
	b.snapshots = maps.Clone(b.snapshots)
	delete(b.snapshots, id)
	return b
}

// anySnapshot returns the id of one of them; "" if there is none.
func (b blob) anySnapshot() string {
	for id := range b.snapshots {
		return id
	}
	return ""
}

// like reports whether what was seen is this, as far as it can be seen.
func (b blob) like(seen blob) bool {
	return b.there == seen.there && b.sum == seen.sum && b.version == seen.version && b.state == seen.state && sameSnapshots(b.snapshots, seen.snapshots)
}

// sameSnapshots compares them. One whose id nobody was told is any one that is
// not known.
func sameSnapshots(want, seen map[string]string) bool {
	if len(want) != len(seen) {
		return false
	}
	for id, sum := range seen {
		known, ok := want[id]
		if !ok {
			known = want[unheard]
		}
		if known != sum {
			return false
		}
	}
	return true
}

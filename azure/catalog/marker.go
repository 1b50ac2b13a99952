package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/leasehold/leasehold/azure/azerr"
)

// place is how far a list has come: after a snapshot or base of that name, or
// after all names with that prefix.
type place struct {
	name     string
	snapshot Ticks
	prefix   bool
}

// beforeAll is the snapshot number of a place before all of its name.
const beforeAll Ticks = -1

// seek returns the key below all that comes after the place. With bases first,
// their snapshots come after them. Not ok: nothing comes after it.
func (p place) seek(basesFirst bool) (name string, snapshot int64, ok bool) {
	switch {
	case p.prefix:
		name, ok = after(p.name)
		return name, int64(beforeAll), ok
	case basesFirst && p.snapshot == Base:
		return p.name, int64(beforeAll), true
	}
	return p.name, int64(p.snapshot), true
}

// within reports whether the place is after something of that name.
func (p place) within(name string) bool {
	return p.name == name && !p.prefix && p.snapshot != beforeAll
}

// A markerKind keeps the markers of one list out of another.
type markerKind string

const (
	blobList      markerKind = "blobs"
	containerList markerKind = "containers"
	tagList       markerKind = "tags"
)

const checksumSize = 6

// checksum shows whether a marker is of this kind. It is no secret: a forged marker
// leads only to where the list leads anyhow.
func (k markerKind) checksum(body []byte) []byte {
	sum := sha256.Sum256(append([]byte("leasehold "+k+" "), body...))
	return sum[:checksumSize]
}

// encode makes an opaque marker, fit for a URL as it is.
func (k markerKind) encode(body []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(k.checksum(body), body...))
}

// decode reads a marker that encode made.
func (k markerKind) decode(marker string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(marker)
	if err != nil || len(b) < checksumSize || string(k.checksum(b[checksumSize:])) != string(b[:checksumSize]) {
		return nil, errForeignMarker
	}
	return b[checksumSize:], nil
}

var errForeignMarker = azerr.New(azerr.InvalidQueryParameterValue).With("the marker is not one that this list gave out")

// marker encodes the place.
func (p place) marker(k markerKind) string {
	flag := byte(0)
	if p.prefix {
		flag = 1
	}
	body := binary.AppendVarint([]byte{flag}, int64(p.snapshot))
	return k.encode(append(body, p.name...))
}

// readMarker decodes a place.
func readMarker(k markerKind, marker string) (place, error) {
	body, err := k.decode(marker)
	if err != nil {
		return place{}, err
	}
	if len(body) == 0 {
		return place{}, errForeignMarker
	}
	snapshot, n := binary.Varint(body[1:])
	if n <= 0 {
		return place{}, errForeignMarker
	}
	return place{name: string(body[1+n:]), snapshot: Ticks(snapshot), prefix: body[0] == 1}, nil
}

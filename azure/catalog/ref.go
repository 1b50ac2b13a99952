package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
)

// MaxName is how long a blob's name may be, in characters.
const MaxName = 1024

// Ref names a container, a blob or a snapshot.
type Ref struct {
	Account, Container, Blob string
	Snapshot                 Snapshot // none: the blob itself
}

// IsSnapshot reports whether a snapshot is named.
func (r Ref) IsSnapshot() bool { return r.Snapshot.named }

// base is the blob of a snapshot.
func (r Ref) base() Ref { r.Snapshot = Snapshot{}; return r }

// container is the container of a blob.
func (r Ref) container() Ref { return Ref{Account: r.Account, Container: r.Container} }

// path names the blob, or the container, in locks.
func (r Ref) path() string {
	if r.Blob == "" {
		return r.Account + "/" + r.Container
	}
	return r.Account + "/" + r.Container + "/" + r.Blob
}

const resourcePrefix = "blob:"

// Resource is the name under which its lease is known to everybody else. Where
// the plain name cannot be a resource's (too long, control characters, no
// UTF-8), a digest stands for the blob's name; so it does for a name that looks
// like such a digest.
func (r Ref) Resource() string {
	name := resourcePrefix + r.path()
	if leasehold.CheckResource(name) == nil && !strings.HasPrefix(r.Blob, digestPrefix) {
		return name
	}
	sum := sha256.Sum256([]byte(r.Blob))
	r.Blob = digestPrefix + hex.EncodeToString(sum[:])
	return resourcePrefix + r.path()
}

const digestPrefix = "~sha256-"

// Holder is how the account is named as the holder of its leases.
func (r Ref) Holder() string { return "azure:" + r.Account }

// CheckContainer refuses what cannot be the name of a container.
func CheckContainer(name string) error {
	switch {
	case name == "$root" || name == "$logs" || name == "$web":
		return nil
	case len(name) < 3 || len(name) > 63:
		return azerr.New(azerr.OutOfRangeInput).With("%q is no name for a container: it takes 3 to 63 characters", name)
	case !isContainerName(name):
		return azerr.New(azerr.InvalidResourceName).With("%q is no name for a container: it takes 3 to 63 lower-case letters, digits and single dashes", name)
	}
	return nil
}

// isContainerName: lower-case letters, digits, and dashes between two of them.
func isContainerName(name string) bool {
	dash := true // none at the beginning
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			dash = false
		case c == '-' && !dash:
			dash = true
		default:
			return false
		}
	}
	return !dash
}

// CheckBlob refuses what cannot be the name of a blob.
func CheckBlob(name string) error {
	switch {
	case name == "":
		return azerr.New(azerr.InvalidUri).With("the blob has no name")
	case !utf8.ValidString(name):
		return azerr.New(azerr.InvalidUri).With("the name of the blob is not UTF-8")
	case utf8.RuneCountInString(name) > MaxName:
		return azerr.New(azerr.InvalidResourceName).With("the name of the blob has more than %d characters", MaxName)
	}
	return nil
}

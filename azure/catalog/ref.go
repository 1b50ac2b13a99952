package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
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

// paths are the names of the blob and of its container in locks.
func (r Ref) paths() (blob, container string) {
	blob = r.path()
	return blob, blob[:len(r.Account)+1+len(r.Container)]
}

const resourcePrefix = "blob:"

// Resource is the name of its lease in every other API. Where the plain name
// cannot be a resource's (too long, control characters, no UTF-8), a digest stands
// for the blob's name, and so it does for a name that looks like such a digest.
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

// Ticks is a moment in 100 ns since the year 1. Azure counts so, and shows it:
// in ETags as hexadecimal digits, in snapshot ids as a date.
type Ticks int64

// Base is the snapshot number of what is not a snapshot.
const Base Ticks = 1<<63 - 1

// unixEpoch is 1970 in ticks.
const unixEpoch Ticks = 621_355_968_000_000_000

// TicksOf returns a time in ticks.
func TicksOf(t time.Time) Ticks {
	return unixEpoch + Ticks(t.Unix())*1e7 + Ticks(t.Nanosecond()/100)
}

// Time returns the ticks as a time.
func (t Ticks) Time() time.Time {
	since := int64(t - unixEpoch)
	return time.Unix(since/1e7, since%1e7*100).UTC()
}

// ETag returns the ticks as an ETag, with its quotes.
func (t Ticks) ETag() string {
	text := strconv.AppendUint(make([]byte, 0, len(`"0x0123456789ABCDEF"`)), uint64(t), 16)
	text = slices.Insert(text, 0, '"', '0', 'x')
	for i := 3; i < len(text); i++ {
		if text[i] >= 'a' {
			text[i] -= 'a' - 'A'
		}
	}
	return string(append(text, '"'))
}

// clock gives out moments, each later than the one before it, whatever the
// machine's clock does.
type clock struct{ last atomic.Int64 }

// after returns the present moment, or the one after t if that is later.
func (c *clock) after(t Ticks) Ticks {
	for {
		last := c.last.Load()
		next := max(int64(TicksOf(time.Now())), last+1, int64(t)+1)
		if c.last.CompareAndSwap(last, next) {
			return Ticks(next)
		}
	}
}

// Snapshot names one snapshot of a blob. The zero value names none, which is the
// blob itself. Every moment names a snapshot, the first of the year 1 too: no
// moment stands for "none".
type Snapshot struct {
	at    Ticks
	named bool
}

// At names the snapshot of that moment; Base names none.
func At(t Ticks) Snapshot {
	if t == Base {
		return Snapshot{}
	}
	return Snapshot{at: t, named: true}
}

// Ticks is the snapshot's moment, and Base for none.
func (s Snapshot) Ticks() Ticks {
	if !s.named {
		return Base
	}
	return s.at
}

const snapshotLayout = "2006-01-02T15:04:05.0000000Z"

// String returns the snapshot's id, and nothing for none.
func (s Snapshot) String() string {
	if !s.named {
		return ""
	}
	return s.at.Time().Format(snapshotLayout)
}

// ParseSnapshot reads the id of a snapshot, of the years 1 to 9999. Six
// fractional digits are read as seven with a zero at the end: some clients cut
// the last one off.
func ParseSnapshot(id string) (Snapshot, bool) {
	digits := id
	if len(id) == len(snapshotLayout)-1 && strings.HasSuffix(id, "Z") {
		digits = id[:len(id)-1] + "0Z"
	}
	t, err := time.Parse(snapshotLayout, digits)
	if err != nil || t.Year() < 1 || t.Format(snapshotLayout) != digits {
		return Snapshot{}, false
	}
	return At(TicksOf(t)), true
}
